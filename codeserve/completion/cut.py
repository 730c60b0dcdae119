"""Where a text that is too long is cut.

The start of what is kept is anchored in the content: of all line starts that leave between three quarters of
the limit and the limit, the one whose line has the smallest key is taken. Which one that is depends on the
document alone. It stays while the user types, moves by many lines at once, is found again after an edit above
it, and is the same for every client and server that cuts the same document, so that their KV caches match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b

from codeserve.protocol import MAX_PREFIX_CHARS, MAX_SUFFIX_CHARS

__all__ = ["PSEUDO_LINE", "anchor", "cut_prefix", "cut_suffix", "pieces", "split_lines"]

# Longer lines (minified code, data) are treated as lines of this many characters, counted from their start.
PSEUDO_LINE = 1024

_DISTINCTIVE = 8  # characters other than white space that make a line worth anchoring on
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` with their ends, as LSP has them: "\\n", "\\r\\n" or "\\r"."""
    if "\r" in text:
        return _LINES.findall(text)
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _line_start(text: str, position: int) -> int:
    """Where the line starts in which ``position`` is, or behind which it is."""
    if text[position - 1 : position + 1] == "\r\n":
        position -= 1
    newline = text.rfind("\n", 0, position)
    # looked for behind that newline only: a text without any "\r" must not be searched to its beginning
    return max(newline, text.rfind("\r", newline + 1, position)) + 1


def _whole(text: str, position: int) -> int:
    """``position``, or the one behind it when it is between the halves of a surrogate pair."""
    inside = (
        0 < position < len(text)
        and "\ud800" <= text[position - 1] <= "\udbff"
        and "\udc00" <= text[position] <= "\udfff"
    )
    return position + inside


def pieces(lines: Iterable[str], size: int = PSEUDO_LINE) -> Iterator[tuple[str, bool]]:
    """Lines, given with their ends and last one first, as pieces: lines and pseudo-lines, last one first.

    Each comes with whether it starts a line, not only a pseudo-line.
    """
    for line in lines:
        if len(line) <= size:
            yield line, True
            continue
        content = len(line.rstrip("\r\n"))
        end = len(line)
        for grid in range((content - 1) // size * size, 0, -size):
            start = _whole(line, grid)
            if start < content:
                yield line[start:end], False
                end = start
        yield line[:end], True


@lru_cache(maxsize=4096)
def _digest(line: str) -> bytes:
    return blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def anchor(backward: Iterable[tuple[str, bool]], limit: int, measure: Callable[[str], int]) -> int | None:
    """How many of the `pieces` of a text to keep so that their sizes add up to ``limit`` at most.

    None when all fit; 0 when not even the last one does. ``measure`` gives the size of a piece.
    """
    left = fitting = kept = 0
    best: tuple[bool, bool, bool, bytes] | None = None
    for count, (piece, real) in enumerate(backward, 1):
        left += measure(piece)
        if left > limit:
            return kept or fitting
        fitting = count
        if 4 * left >= 3 * limit:
            line = piece.rstrip("\r\n")
            distinctive = sum(map(len, line.split())) >= _DISTINCTIVE
            key = (not real, not distinctive, line[:1].isspace(), _digest(line))
            if best is None or key <= best:  # of equals the earliest in the text
                best, kept = key, count
    return None


def cut_prefix(prefix: str, limit: int = MAX_PREFIX_CHARS) -> str:
    """The tail of ``prefix`` to keep: at most ``limit`` characters, from a stable line start.

    Looks at the last ``limit`` characters and the line in which they begin, however long the text is.
    """
    total = len(prefix)
    if total <= limit:
        return prefix
    if limit <= 0:
        return ""
    # Lines behind the zone of candidates need not be told apart: they are one piece, too short to be one.
    newline = prefix.find("\n", total - limit * 3 // 4)
    end = total if newline < 0 else newline + 1
    # from a character before the limit, so that not all of it fits
    lines = split_lines(prefix[_line_start(prefix, total - limit - 1) : end])
    size = min(PSEUDO_LINE, max(1, limit // 4))  # so short that one starts among the candidates
    behind = prefix[end:]
    zone: list[str] = [behind]
    backward = pieces(reversed(lines), size)

    def tail() -> Iterator[tuple[str, bool]]:
        yield behind, True
        for piece in backward:
            zone.append(piece[0])
            yield piece

    count = anchor(tail(), limit, len) or 0
    return prefix[total - sum(map(len, zone[:count])) :]


def cut_suffix(suffix: str, limit: int = MAX_SUFFIX_CHARS) -> str:
    """The head of ``suffix`` to keep: at most ``limit`` characters, to a line end where one is near."""
    if len(suffix) <= limit:
        return suffix
    if limit <= 0:
        return ""
    end = limit - 1 if suffix[limit - 1 : limit + 1] == "\r\n" else limit
    if _whole(suffix, end) > end:  # a surrogate pair that does not fit is left out whole
        end -= 1
    line = _line_start(suffix, end)
    return suffix[: line if 4 * line >= 3 * limit else end]
