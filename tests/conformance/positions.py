"""Positions in a text as LSP has them, counted one character after the other: the suite's own measure."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["offset_of", "position_of", "replaced"]


def _width(letter: str, encoding: str) -> int:
    return len(letter.encode({"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(encoding, "utf-8"))) // (
        {"utf-16": 2, "utf-32": 4}.get(encoding, 1)
    )


def _walk(text: str, encoding: str) -> Iterator[tuple[int, int, int]]:
    """Each place in the text where a cursor can be: offset, line and column."""
    line = column = 0
    for offset, letter in enumerate(text):
        if letter != "\n" or text[offset - 1 : offset] != "\r":
            yield offset, line, column
        if letter == "\n" or (letter == "\r" and text[offset + 1 : offset + 2] != "\n"):
            line, column = line + 1, 0
        elif letter != "\r":
            column += 1 if letter < "\x80" else _width(letter, encoding)
    yield len(text), line, column


def position_of(text: str, offset: int, encoding: str) -> tuple[int, int]:
    """Line and column of a character."""
    return next((line, column) for place, line, column in _walk(text, encoding) if place == offset)


def offset_of(text: str, line: int, column: int, encoding: str) -> int:
    """The character at a line and column. Raises: StopIteration when there is none."""
    return next(place for place, *position in _walk(text, encoding) if position == [line, column])


def replaced(text: str, start: tuple[int, int], end: tuple[int, int], new: str, encoding: str) -> str:
    """``text`` after an editor has put ``new`` in place of what is from ``start`` to ``end``."""
    return text[: offset_of(text, *start, encoding)] + new + text[offset_of(text, *end, encoding) :]
