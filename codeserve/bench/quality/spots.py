"""Where an author writes in a file, and in which keystrokes."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import attrs

from codeserve.bench.quality.sources import Source

__all__ = ["Spot", "choose_spot", "keystrokes"]

_MOST_LINES = 4  # written in one go
_MOST_CHARS = 240
_TRIES = 100
# How often an author begins with a new line that the editor has indented, with one at its very start, goes
# on in a line, or changes something within a line.
_KINDS = ("indented", "start", "end", "middle")
_WEIGHTS = (50, 10, 25, 15)

_BOUNDARY = re.compile(r"\b")


@attrs.frozen
class Spot:
    """``text[start:end]`` of a file is what the author writes there; all else stands there already."""

    source: Source
    start: int
    end: int

    @property
    def written(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def suffix(self) -> str:
        return self.source.text[self.end :]


def choose_spot(source: Source, rng: random.Random) -> Spot | None:
    """A place in a file; None when the file has none (which `sources.read_sources` makes unlikely)."""
    starts = [match.start() for match in re.finditer(r"^.*\S.*$", source.text, re.M)]
    for _ in range(_TRIES):
        kind = rng.choices(_KINDS, _WEIGHTS)[0]
        place = rng.randrange(len(starts))
        spot = _spot(source, kind, starts, place, rng)
        if spot is not None and spot.written.strip() and len(spot.written) <= _MOST_CHARS:
            return spot
    return None


def _spot(source: Source, kind: str, starts: list[int], place: int, rng: random.Random) -> Spot | None:
    text, start = source.text, starts[place]
    end = _line_end(text, start)
    if kind in ("indented", "start"):
        last = min(place + rng.randint(1, _MOST_LINES), len(starts)) - 1
        indent = len(text[start:end]) - len(text[start:end].lstrip())
        return Spot(source, start + (indent if kind == "indented" else 0), _line_end(text, starts[last]))
    line = text[start:end]
    first = len(line) - len(line.lstrip())
    cuts = [match.start() for match in _BOUNDARY.finditer(line) if first < match.start() < len(line)]
    if len(cuts) < 2:
        return None
    if kind == "end":
        return Spot(source, start + rng.choice(cuts), end)
    left, right = sorted(rng.sample(cuts, 2))
    return Spot(source, start + left, start + right)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def keystrokes(written: str) -> Iterator[str]:
    """What each key puts into the file: a character, or a line end with the indentation that editors add."""
    for match in re.finditer(r"\n+[ \t]*|[^\n]", written):
        yield match[0]
