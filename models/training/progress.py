"""What a run says while it goes: a line every so often, a CSV file of all of them, and the loss curve as a
picture.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Log", "curve_svg"]

COLUMNS = (
    "step",
    "seconds",
    "tokens",
    "loss",
    "middle_loss",
    "validation_loss",
    "validation_middle_loss",
    "rate",
)

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 360, 48, 32
_SERIES = (("loss", "#888888"), ("middle_loss", "#1f77b4"), ("validation_middle_loss", "#d62728"))


class Log:
    """Appends rows to ``path``; those of steps that a resumed run does again are dropped."""

    def __init__(self, path: Path, from_step: int) -> None:
        self._path = path
        self.rows = [row for row in self.read(path) if int(row["step"]) <= from_step] if path.exists() else []
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(self.rows)

    @staticmethod
    def read(path: Path) -> list[dict[str, str]]:
        """The rows of a log."""
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def add(self, values: dict[str, float]) -> None:
        row = {name: f"{values[name]:.6g}" if name in values else "" for name in COLUMNS}
        row["step"] = str(int(values["step"]))
        self.rows.append(row)
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, COLUMNS).writerow(row)


def curve_svg(rows: Sequence[dict[str, str]]) -> str:
    """The losses over the tokens, as an SVG picture."""
    points = {
        name: [(float(row["tokens"]), float(row[name])) for row in rows if row[name] and row["tokens"]]
        for name, _ in _SERIES
    }
    every = [point for series in points.values() for point in series]
    if not every:
        raise ValueError("a curve needs at least one logged step")
    most = max(x for x, _ in every) or 1.0
    # The first steps would flatten all that follows.
    top = min(max(y for _, y in every), 6.0)
    low = min(y for _, y in every) * 0.9

    def place(x: float, y: float) -> str:
        across = _LEFT + x / most * (_WIDTH - _LEFT - 8)
        down = (top - min(y, top)) / (top - low or 1.0) * (_HEIGHT - _BOTTOM - 8) + 8
        return f"{across:.1f},{down:.1f}"

    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for part in range(5):
        y = low + (top - low) * part / 4
        x = most * part / 4
        parts.append(f'<polyline points="{place(0, y)} {place(most, y)}" stroke="#dddddd"/>')
        parts.append(f'<text x="4" y="{float(place(0, y).split(",")[1]) + 4:.1f}">{y:.2f}</text>')
        across, down = place(x, low).split(",")[0], _HEIGHT - 12
        parts.append(f'<text x="{across}" y="{down}" text-anchor="middle">{x / 1e6:.0f} M</text>')
    for number, (name, colour) in enumerate(_SERIES):
        path = " ".join(place(x, y) for x, y in points[name])
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        label, x, y = name.replace("_", " "), _WIDTH - 180, 24 + 16 * number
        parts.append(f'<text x="{x}" y="{y}" fill="{colour}">{label}</text>')
    return "\n".join([*parts, "</svg>", ""])
