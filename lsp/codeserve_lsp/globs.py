"""Globs as Git means them, matched in time that no pattern can blow up.

A glob is cut at its slashes and each part of it at its stars. The pieces between stars are looked for from
left to right, and each stays where it is found first: what follows has the more room for it, so that nothing
is ever tried again (and likewise the parts between ``**``). The syntax is that of gitignore(5) and glob(7),
byte by byte: texts here have one character for each byte.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import string
from collections.abc import Iterator

import attrs

__all__ = ["Budget", "Glob", "TooMuch"]


class TooMuch(ValueError):
    """Patterns that take too long to be read or matched: nobody knows what they rule out."""


@attrs.define
class Budget:
    """How much work one question may be, in steps of some tenth of a microsecond."""

    left: int

    def spend(self, steps: int) -> None:
        """Raises: TooMuch when nothing is left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuch("these patterns take too long")


_BYTES = frozenset(map(chr, range(256)))
_ANY = _BYTES - {"/"}
_ASCII = frozenset(map(chr, range(128)))
_CLASSES = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "blank": frozenset(" \t"),
    "cntrl": frozenset(char for char in _ASCII if char < " " or char == "\x7f"),
    "digit": frozenset(string.digits),
    "graph": frozenset(char for char in _ASCII if "!" <= char <= "~"),
    "lower": frozenset(string.ascii_lowercase),
    "print": frozenset(char for char in _ASCII if " " <= char <= "~"),
    "punct": frozenset(string.punctuation),
    "space": frozenset(" \t\n\r"),
    "upper": frozenset(string.ascii_uppercase),
    "xdigit": frozenset(string.hexdigits),
}


class _Mark(enum.Enum):
    """What of a glob stands for no single character."""

    STAR = enum.auto()
    DOUBLE = enum.auto()  # "**" between slashes
    SLASH = enum.auto()


# What one character may be; a text for one that is itself.
_Item = str | frozenset[str]
_Piece = str | tuple[_Item, ...]


class _Never(Exception):
    """A glob that Git takes for broken: it matches nothing."""


class _Part:
    """What stands between two slashes: pieces with a star between each two of them."""

    def __init__(self, pieces: list[list[_Item]]) -> None:
        self._pieces = list(map(_piece, pieces))
        self._least = sum(map(len, pieces))
        # steps: texts are compared and looked for at once, all else character by character
        self._cost = 5 + sum(1 if isinstance(piece, str) else len(piece) for piece in self._pieces)

    def matches(self, name: str, budget: Budget) -> bool:
        budget.spend(self._cost)
        if len(name) < self._least:
            return False
        first, *middle = self._pieces
        if not middle:
            return len(name) == self._least and _fits(first, name, 0)
        last = middle.pop()
        end = len(name) - len(last)
        if not _fits(first, name, 0) or not _fits(last, name, end):
            return False
        at = len(first)
        for piece in middle:
            if not isinstance(piece, str):
                budget.spend(len(piece) * len(name))
            found = _find(piece, name, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return at <= end


def _piece(items: list[_Item]) -> _Piece:
    literal = [item for item in items if isinstance(item, str)]
    return "".join(literal) if len(literal) == len(items) else tuple(items)


def _fits(piece: _Piece, name: str, at: int) -> bool:
    if isinstance(piece, str):
        return name.startswith(piece, at)
    return all(char in item for char, item in zip(name[at : at + len(piece)], piece, strict=True))


def _find(piece: _Piece, name: str, start: int, end: int) -> int:
    """Where a piece is first, between ``start`` and ``end``; -1 for nowhere."""
    if isinstance(piece, str):
        return name.find(piece, start, end)
    places = range(start, end - len(piece) + 1)
    return next((at for at in places if _fits(piece, name, at)), -1)


class Glob:
    """One glob for whole paths, without a slash at either end. Raises: TooMuch."""

    def __init__(self, pattern: str, budget: Budget) -> None:
        budget.spend(5 * len(pattern) + (100 * pattern.count("-") if "[" in pattern else 0))
        # runs of parts, with "**" between each two of them; none: nothing matches
        self._runs: list[list[_Part]] = []
        with contextlib.suppress(_Never):
            self._runs = _runs(_tokens(pattern))

    def matches(self, path: str, budget: Budget) -> bool:
        """Whether it means this path, and not only the start of it. Raises: TooMuch."""
        budget.spend(5)
        if not self._runs:
            return False
        names = path.split("/")
        first, *middle = self._runs
        if not middle:
            return len(names) == len(first) and _follow(first, names, 0, budget)
        last = middle.pop()
        end = len(names) - max(len(last), 1)  # "**" at the end means one name at least
        if len(first) > end or not _follow(first, names, 0, budget) or not _follow(last, names, end, budget):
            return False
        at = len(first)
        for run in middle:
            places = range(at, end - len(run) + 1)
            found = next((each for each in places if _follow(run, names, each, budget)), -1)
            if found < 0:
                return False
            at = found + len(run)
        return True


def _follow(run: list[_Part], names: list[str], at: int, budget: Budget) -> bool:
    """Whether the names from ``at`` on are those of a run."""
    return all(part.matches(names[at + number], budget) for number, part in enumerate(run))


_Token = _Item | _Mark


def _runs(tokens: Iterator[_Token]) -> list[list[_Part]]:
    runs: list[list[_Part]] = [[]]
    pieces: list[list[_Item]] = [[]]
    double = False  # the part at hand is "**"
    for token in itertools.chain(tokens, [_Mark.SLASH]):
        if token is _Mark.STAR:
            pieces.append([])
        elif token is _Mark.DOUBLE:
            double = True
        elif isinstance(token, _Mark):
            if double:
                runs.append([])
            else:
                runs[-1].append(_Part(pieces))
            pieces, double = [[]], False
        else:
            pieces[-1].append(token)
    return runs


def _tokens(pattern: str) -> Iterator[_Token]:
    """Raises: _Never."""
    at, end = 0, len(pattern)
    while at < end:
        start, char, at = at, pattern[at], at + 1
        if char == "*":
            at = end - len(pattern[at:].lstrip("*"))
            escaped = pattern.startswith("\\/", at)
            alone = pattern[start - 1 : start] in ("", "/") and (escaped or pattern[at : at + 1] in ("", "/"))
            if alone and escaped and at - start > 1:  # Git wants one name at least then
                yield from (_Mark.STAR, _Mark.SLASH)
            yield _Mark.DOUBLE if alone and at - start > 1 else _Mark.STAR
        elif char == "?":
            yield _ANY
        elif char == "[":
            found, at = _set(pattern, at)
            yield found
        else:
            if char == "\\":
                char, at = pattern[at : at + 1], at + 1
            if not char:
                raise _Never
            yield _Mark.SLASH if char == "/" else char


def _set(pattern: str, at: int) -> tuple[frozenset[str], int]:
    """The characters that a bracket expression means, from behind its bracket on, and where it ends.

    Raises: _Never.
    """
    negated = pattern.startswith(("!", "^"), at)
    at += negated
    chars: set[str] = set()
    before = ""  # the character that a range may begin with
    start = at
    while (char := pattern[at : at + 1]) != "]" or at == start:
        at += 1
        after = pattern[at : at + 1]
        if char == "\\":
            char, at = after, at + 1
        elif char == "-" and before and after not in ("", "]"):
            at += 1
            if after == "\\":
                after, at = pattern[at : at + 1], at + 1
            if not after:
                raise _Never
            chars.update(map(chr, range(ord(before), ord(after) + 1)))
            before = ""
            continue
        elif char == "[" and after == ":":
            close = pattern.find("]", at)
            if close < 0:
                raise _Never
            if close > at + 1 and pattern[close - 1] == ":":
                found = _CLASSES.get(pattern[at + 1 : close - 1])
                if found is None:
                    raise _Never
                chars |= found
                before, at = "", close + 1
                continue
        if not char:
            raise _Never
        chars.add(char)
        before = char
    return frozenset(_BYTES - chars if negated else chars) - {"/"}, at + 1
