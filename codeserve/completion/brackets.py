"""Which brackets a piece of code leaves open, and which it closes that it did not open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import attrs

from codeserve.completion.languages import comment_marks

__all__ = ["CHARACTER_QUOTES", "CLOSERS", "OPENERS", "Balance", "balance", "in_string"]

OPENERS = "([{"
CLOSERS = ")]}"
_PAIRS = dict(zip(CLOSERS, OPENERS, strict=True))

# Here 'x' is one character and a lone ' may be a lifetime, not the beginning of a string.
CHARACTER_QUOTES = frozenset(
    {"c", "cpp", "csharp", "go", "haskell", "java", "kotlin", "rust", "scala", "swift"}
)


@attrs.frozen
class Balance:
    """The brackets without a partner, strings and line comments aside."""

    open: str  # in order
    unmatched: tuple[int, ...]  # where closers stand whose opener is not in the text


# From a quote on: the string as far as it goes on the line, and its end where it has one.
_STRINGS = {quote: re.compile(rf"{quote}(?:\\.|[^{quote}\\\n])*({quote}?)") for quote in "\"'`"}
_CHARACTER = re.compile(r"'(?:\\.[^'\n]*|[^'\\\n])(')")


@lru_cache(maxsize=64)
def _marks(language: str) -> re.Pattern[str]:
    comment, end = comment_marks(language)
    comments = [] if end else [re.escape(comment.strip()) + r"[^\n]*"]
    return re.compile("|".join([*comments, "[()\\[\\]{}\"'`]"]))


def _brackets(text: str, language: str) -> Iterator[tuple[int, str]]:
    """The brackets and where they stand. A quote without an end begins no string."""
    ends = dict.fromkeys(_STRINGS, 0)  # up to where a quote is known to have none: looked for once
    at = 0
    while match := _marks(language).search(text, at):
        start, at, mark = match.start(), match.end(), match[0]
        if mark in _STRINGS and start >= ends[mark]:
            character = mark == "'" and language in CHARACTER_QUOTES
            string = (_CHARACTER if character else _STRINGS[mark]).match(text, start)
            if string and string[1]:
                at = string.end()
            elif string and not character:
                ends[mark] = string.end()
        elif mark in OPENERS or mark in _PAIRS:
            yield start, mark


def balance(text: str, language: str = "", already_open: str = "") -> Balance:
    """The balance of ``text``, which follows code that left ``already_open``."""
    stack = list(already_open)
    unmatched = []
    for at, bracket in _brackets(text, language):
        if bracket in OPENERS:
            stack.append(bracket)
        elif stack and stack[-1] == _PAIRS[bracket]:
            stack.pop()
        else:
            unmatched.append(at)
    return Balance("".join(stack), tuple(unmatched))


def in_string(line: str, quote: str) -> bool:
    """Whether ``line`` ends inside a string that ``quote`` began."""
    inside = ""
    escaped = False
    for letter in line:
        if escaped:
            escaped = False
        elif inside and letter == "\\":
            escaped = True
        elif inside:
            inside = "" if letter == inside else inside
        elif letter in "\"'`":
            inside = letter
    return inside == quote
