"""The text around a cursor in a file, by line and column as editors show them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import attrs

from codeserve.errors import CodeserveError

__all__ = ["Cursor", "locate", "read_source"]

# What editors take for a line's end, and nothing else that `str.splitlines` does: LSP 3.17, "Text Documents".
_LINE_END = re.compile(r"\r\n|\r|\n")


@attrs.frozen
class Cursor:
    """A place in a text: what is before and after it, and the part of ``prefix`` on the cursor's own line."""

    prefix: str
    suffix: str
    line_start: str
    line: int
    column: int


def read_source(file: str) -> str:
    """The text of a file, or of standard input for ``-``: line ends as they are, no byte order mark.

    Raises: CodeserveError when it is not there, not a text, or not in UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as exc:
        raise CodeserveError(f"{file} cannot be read: {exc.strerror}") from None
    name = "standard input" if file == "-" else file
    if b"\0" in data[:8192]:
        raise CodeserveError(f"{name} is a binary file: nothing to complete there")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise CodeserveError(
            f"{name} is not UTF-8 (byte {exc.start + 1}): convert it, for example with "
            f"`iconv -f latin1 -t utf-8 {'' if file == '-' else file} | codeserve complete - …`"
        ) from None


def locate(text: str, line: int, column: int | None) -> Cursor:
    """The cursor at ``line`` and ``column``, both from 1, the column in characters; None is the line's end.

    Raises: CodeserveError when the text has no such place.
    """
    starts, ends = [0], []
    for match in _LINE_END.finditer(text):
        ends.append(match.start())
        starts.append(match.end())
    ends.append(len(text))
    if not 1 <= line <= len(starts):
        raise CodeserveError(f"there is no line {line}: lines go from 1 to {len(starts)}")
    start, end = starts[line - 1], ends[line - 1]
    length = end - start
    if column is None:
        column = length + 1
    if not 1 <= column <= length + 1:
        raise CodeserveError(f"there is no column {column} in line {line}: columns go from 1 to {length + 1}")
    offset = start + column - 1
    return Cursor(text[:offset], text[offset:], text[start:offset], line, column)
