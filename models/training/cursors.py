"""Where people's cursors are: splits of a document into prefix, middle and suffix as they come up in an
editor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

__all__ = ["Split", "draw_split"]

# Kinds and how often. Most completions are asked for behind what has just been typed, at the end of a line.
_KINDS = {
    "rest": 0.30,  # behind part of a line, which goes on to its end
    "line": 0.21,  # on an empty line, at its indentation: one whole line
    "full": 0.20,  # at the start of a line, its indentation included, and its end too half of the times
    "block": 0.15,  # from either place to the end of some later line
    "inside": 0.08,  # in a line that goes on behind the middle: brackets that editors close, edits
    "span": 0.05,  # from any character to any other
    "nothing": 0.01,  # at the end of a line that is complete
}
_NAMES = list(_KINDS)
_CUMULATIVE = np.cumsum(list(_KINDS.values()))
_WORD_ENDS = 0.6  # of cursors within lines are where a word or a sign ends, the others anywhere
_BOUNDARY = re.compile(r"(?<=[\s(\[{,.=:])(?=\S)|(?<=\w)(?=\W)")
_MAX_BLOCK = 12  # lines
_MAX_SPAN = 12


@dataclass(frozen=True)
class Split:
    """A split of lines: the cursor at ``start`` and the end of the middle at ``end``, each as (line,
    character).
    """

    start: tuple[int, int]
    end: tuple[int, int]


def draw_split(lines: list[str], at: int, random: np.random.Generator) -> Split:
    """A split of which the cursor is in ``lines[at]``.

    Lines come with their ends; those behind ``at`` may follow.
    """
    kind = _NAMES[int(np.searchsorted(_CUMULATIVE, random.random() * _CUMULATIVE[-1], "right"))]
    line = lines[at].rstrip("\n")
    indent = len(line) - len(line.lstrip())
    if kind == "nothing":
        return Split((at, len(line)), (at, len(line)))
    if kind == "full":
        # editors have a blank line there, whose end stays; evaluations take the line away with its end
        return Split((at, 0), (at + 1, 0) if random.random() < 0.5 else (at, len(line)))
    if kind == "span":
        last = min(len(lines) - 1, at + int(random.integers(0, _MAX_SPAN)))
        start = int(random.integers(0, len(line) + 1))
        low = start if last == at else 0
        return Split(
            (at, start), (last, int(random.integers(low, max(low, len(lines[last].rstrip("\n"))) + 1)))
        )
    if kind == "line":
        return Split((at, indent), (at, len(line)))
    start = _within(line, indent, random)
    if kind == "inside":
        ends = [place for place in _boundaries(line, indent) if place > start] or [len(line)]
        return Split((at, start), (at, ends[int(random.integers(0, len(ends)))]))
    if kind == "block":
        if random.random() < 0.5:
            start = indent
        last = _block_end(lines, at, indent, random)
        return Split((at, start), (last, len(lines[last].rstrip("\n"))))
    return Split((at, start), (at, len(line)))


def _boundaries(line: str, indent: int) -> list[int]:
    return [match.start() for match in _BOUNDARY.finditer(line) if match.start() > indent]


def _within(line: str, indent: int, random: np.random.Generator) -> int:
    """A place behind the first character of a line's text and before its end, where there is one."""
    if random.random() < _WORD_ENDS and (places := _boundaries(line, indent)):
        return places[int(random.integers(0, len(places)))]
    return (
        int(random.integers(min(indent + 1, len(line)), len(line) + 1)) if len(line) > indent else len(line)
    )


def _block_end(lines: list[str], at: int, indent: int, random: np.random.Generator) -> int:
    """The last line of the middle: where the block that the cursor's line is in or opens ends, or some
    line before.
    """
    last = at
    for index in range(at + 1, min(len(lines), at + _MAX_BLOCK)):
        line = lines[index].rstrip("\n")
        if not line.strip():
            continue
        if len(line) - len(line.lstrip()) < indent:
            break
        last = index
    if last > at and random.random() < 0.4:
        last = int(random.integers(at + 1, last + 1))
        while last > at and not lines[last].strip():
            last -= 1
    return last
