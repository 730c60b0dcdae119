"""The quality report as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

__all__ = ["right_tables", "tables"]


def tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """One or more for each part, then the run as a whole."""
    for part, figures in report["parts"].items():
        if part == "context":
            yield from _context(figures)
        elif part == "replay":
            yield from _replay(figures)
        else:
            yield from _filled(part, figures)
    yield _run(report)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _share(figure: Mapping[str, Any] | None) -> str:
    """A proportion or a mean with its interval."""
    if figure is None:
        return "–"
    value = figure.get("share", figure.get("value"))
    low, high = figure["ci95"] or (None, None)
    return f"{_percent(value)} ({_percent(low)} to {_percent(high)})".replace(" % to", " to")


def _number(figure: Mapping[str, Any]) -> str:
    return "–" if figure["value"] is None else f"{figure['value']:.1f}"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _filled(part: str, figures: Mapping[str, Any]) -> Iterator[Table]:
    table = _table(
        f"{part}: holes filled", "n", "pass@1 (95 %)", "exact match (95 %)", "edit sim.", "no text"
    )
    groups = {"": figures["models"], **{f"{name}: ": some for name, some in figures["by_language"].items()}}
    for group, models in groups.items():
        for model, row in models.items():
            table.add_row(group + model, *_filled_row(row))
    yield table
    if figures["paired"]:
        table = _table(f"{part}: the same problems", "only model alone", "only served", "p")
        for model, measures in figures["paired"].items():
            for measure, row in measures.items():
                table.add_row(
                    f"{model}, {measure}", str(row["only_first"]), str(row["only_second"]), str(row["p"])
                )
        yield table
    yield from _confidence(part, figures["confidence"])


def _filled_row(row: Mapping[str, Any]) -> Sequence[str]:
    count = str(row["exact_match"]["n"])
    similarity = _percent(row["edit_similarity"])
    return count, _share(row["pass_at_1"]), _share(row["exact_match"]), similarity, str(row["no_text"])


def _replay(figures: Mapping[str, Any]) -> Iterator[Table]:
    columns = ("places", "shown of asked", "line exact", "accepted", "kept chars", "kept share", "keys saved")
    table = _table("replay: suggestions while writing", *columns)
    groups = {"all": figures["all"], **figures["by_language"], **figures["by_position"]}
    for name, row in groups.items():
        table.add_row(name, *_replay_row(row))
    yield table
    yield from _confidence("replay", figures["confidence"])
    if quiet := figures["quiet_below"]:
        table = _table("replay: a min_confidence, for one in four to be right", "shown", "right")
        cells = _percent(quiet["coverage"]), _percent(quiet["precision"])
        table.add_row(f"{quiet['threshold']:.3f}", *cells)
        yield table


def _replay_row(row: Mapping[str, Any]) -> Sequence[str]:
    return (
        str(row["places"]),
        f"{row['shown']} of {row['asked']}",
        _share(row["line_exact"]),
        _share(row["accepted"]),
        _number(row["kept_per_shown"]),
        _percent(row["kept_share"]["value"]),
        _share(row.get("keys_saved")),
    )


def _confidence(part: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    if rows:
        columns = ("shown", "right", "kept per shown", "kept share")
        table = _table(f"{part}: only what is at least so sure", *columns)
        for row in rows:
            cells = (_percent(row["coverage"]), _percent(row["precision"]), f"{row['kept_per_shown']:.1f}")
            table.add_row(f"{row['threshold']:.3f}", *cells, _percent(row["kept_share"]))
        yield table


def _context(figures: Mapping[str, Any]) -> Iterator[Table]:
    title = (
        f"context of other files: {figures['files']} files, {figures['snippet_characters']} characters each"
    )
    table = _table(title, "without", "with", "gain (95 %)")
    for name, row in figures["replay"]["gain"].items():
        if row["ci95"] is None:
            continue
        low, high = row["ci95"]
        gain = f"{row['gain']:+.3f} ({low:+.3f} to {high:+.3f})"
        table.add_row(f"replay: {name}", f"{row['without']:.3f}", f"{row['with']:.3f}", gain)
    without, with_it = (figures["lines"][key]["served"]["exact_match"] for key in ("without", "with"))
    p = figures["lines"]["paired"]["exact_match"]["p"]
    table.add_row("lines: exact match", _share(without), _share(with_it), f"p {p}")
    yield table


def _run(report: Mapping[str, Any]) -> Table:
    table = Table(title="the run", show_header=False)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold")
    machine = report["machine"]
    table.add_row("model", report["model"])
    table.add_row(
        "seconds", ", ".join(f"{part} {row['seconds']:.0f}" for part, row in report["parts"].items())
    )
    table.add_row("machine", f"{machine['cpu']}, {machine['cores']} cores")
    table.add_row("versions", ", ".join(f"{name} {version}" for name, version in report["versions"].items()))
    return table


def right_tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """What the pipeline leaves of right answers (`right`)."""
    table = _table("right answers through the pipeline", "n", "whole (95 %)", "lost")
    for part, figures in report["parts"].items():
        lost = ", ".join(f"{fate} {count}" for fate, count in figures["fates"].items() if fate != "whole")
        table.add_row(part, str(figures["whole"]["n"]), _share(figures["whole"]), lost)
    yield table
