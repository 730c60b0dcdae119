"""Where a text that is too long is cut.

The start of what is kept is anchored in the content: of all line starts that leave between three quarters of
the limit and the limit, the one whose line has the smallest key is taken. Which one that is depends on the
document alone. It stays while the user types, moves by many lines at once, is found again after an edit above
it, and is the same for every client and server that cuts the same document, so that their KV caches match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from codeserve.protocol import MAX_PREFIX_CHARS, MAX_SUFFIX_CHARS

__all__ = [
    "PSEUDO_LINE",
    "Piece",
    "choose_start",
    "cut_prefix",
    "cut_suffix",
    "pieces_backward",
    "pieces_forward",
]

# Longer lines (minified code, data) are treated as lines of this many characters, counted from their start.
PSEUDO_LINE = 1024

_DISTINCTIVE = 8  # characters other than white space that make a line worth anchoring on


class Piece(NamedTuple):
    """A line or pseudo-line of a text: ``text[start:end]``, its line end included."""

    start: int
    end: int
    real: bool  # whether a line starts here, not only a pseudo-line


def _content_end(text: str, end: int) -> int:
    if text.endswith("\r\n", 0, end):
        return end - 2
    return end - 1 if text.endswith(("\n", "\r"), 0, end) else end


def _line_start(text: str, content_end: int) -> int:
    newline = text.rfind("\n", 0, content_end)
    # looked for behind that newline only: a text without any "\r" must not be searched to its beginning
    return max(newline, text.rfind("\r", newline + 1, content_end)) + 1


def _line_end(text: str, start: int) -> int:
    """The end, line end included, of the line that starts at ``start``."""
    newline = text.find("\n", start)
    end = len(text) if newline < 0 else newline + 1
    carriage = text.find("\r", start, end)
    if 0 <= carriage < end - 2 or carriage == end - 1:  # a lone one ends a line too
        return carriage + 1
    return end


def _whole(text: str, position: int) -> int:
    """``position``, or the one behind it when it is between the halves of a surrogate pair."""
    inside = (
        0 < position < len(text)
        and "\ud800" <= text[position - 1] <= "\udbff"
        and "\udc00" <= text[position] <= "\udfff"
    )
    return position + inside


def pieces_backward(text: str, end: int, size: int = PSEUDO_LINE) -> Iterator[Piece]:
    """The pieces of ``text[:end]``, last one first; ``end`` must be a line start or the end of the text.

    Lazy: looks no further back than the line it stands in.
    """
    while end > 0:
        content_end = _content_end(text, end)
        line = _line_start(text, content_end)
        for grid in range(line + max(content_end - line - 1, 0) // size * size, line, -size):
            start = _whole(text, grid)
            if start < content_end:
                yield Piece(start, end, False)
                end = start
        yield Piece(line, end, True)
        end = line


def pieces_forward(text: str, size: int = PSEUDO_LINE) -> Iterator[Piece]:
    """The pieces of ``text``, first one first. Lazy: looks no further than the line it stands in."""
    line = 0
    while line < len(text):
        line_end = _line_end(text, line)
        content_end = _content_end(text, line_end)
        start = line
        for grid in range(line + size, content_end, size):
            end = _whole(text, grid)
            if end < content_end:
                yield Piece(start, end, start == line)
                start = end
        yield Piece(start, line_end, start == line)
        line = line_end


def _key(text: str, piece: Piece) -> tuple[bool, bool, bool, bytes, int]:
    line = text[piece.start : _content_end(text, piece.end)]
    distinctive = sum(map(len, line.split())) >= _DISTINCTIVE
    digest = blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return not piece.real, not distinctive, line[:1].isspace(), digest, piece.start


def choose_start(
    text: str, limit: int, measure: Callable[[str], int], *, size: int = PSEUDO_LINE, end: int | None = None
) -> int:
    """Where the kept tail of ``text`` begins: 0 when all of it fits, ``len(text)`` when no line does.

    ``measure`` gives the size of a piece of text in the unit of ``limit``; the size of a tail is the sum
    over its pieces. With ``end``, a line start, what is behind it is measured as one.
    """
    end = len(text) if end is None else end
    left = measure(text[end:]) if end < len(text) else 0
    best: tuple[bool, bool, bool, bytes, int] | None = None
    longest = len(text)  # where the longest tail within the limit begins
    for piece in pieces_backward(text, end, size):
        left += measure(text[piece.start : piece.end])
        if left > limit:
            break
        longest = piece.start
        if 4 * left >= 3 * limit:
            key = _key(text, piece)
            best = key if best is None else min(best, key)
    else:
        return 0
    return longest if best is None else best[-1]


def cut_prefix(prefix: str, limit: int = MAX_PREFIX_CHARS) -> str:
    """The tail of ``prefix`` to keep: at most ``limit`` characters, from a stable line start.

    Looks at the last ``limit`` characters and the line in which they begin, however long the text is.
    """
    total = len(prefix)
    if total <= limit:
        return prefix
    if limit <= 0:
        return ""
    # Lines behind the zone of candidates need not be told apart: take them as one.
    newline = prefix.find("\n", total - limit * 3 // 4)
    end = total if newline < 0 else newline + 1
    return prefix[choose_start(prefix, limit, len, size=_size(limit), end=end) :]


def cut_suffix(suffix: str, limit: int = MAX_SUFFIX_CHARS) -> str:
    """The head of ``suffix`` to keep: at most ``limit`` characters, to a line end where one is near."""
    if len(suffix) <= limit:
        return suffix
    if limit <= 0:
        return ""
    end = limit - 1 if suffix[limit - 1 : limit + 1] == "\r\n" else limit
    end -= _whole(suffix, end) - end  # a surrogate pair that does not fit is left out whole
    line = _line_start(suffix, end)
    return suffix[: line if 4 * line >= 3 * limit else end]


def _size(limit: int) -> int:
    """The length of pseudo-lines: short enough that one starts in the zone of candidates."""
    return min(PSEUDO_LINE, max(1, limit // 4))
