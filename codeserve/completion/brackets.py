"""Which brackets a piece of code leaves open, and which it closes that it did not open."""

from __future__ import annotations

import re
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


@lru_cache(maxsize=64)
def _tokens(language: str) -> re.Pattern[str]:
    single = r"'(?:\\.[^'\n]*|[^'\\\n])'" if language in CHARACTER_QUOTES else r"'(?:\\.|[^'\\\n])*'"
    strings = [r'"(?:\\.|[^"\\\n])*"', single, r"`(?:\\.|[^`\\\n])*`"]
    comment, end = comment_marks(language)
    comments = [] if end else [re.escape(comment.strip()) + r"[^\n]*"]
    return re.compile("|".join([*strings, *comments, r"[()\[\]{}]"]))


def balance(text: str, language: str = "", already_open: str = "") -> Balance:
    """The balance of ``text``, which follows code that left ``already_open``."""
    stack = list(already_open)
    unmatched = []
    for match in _tokens(language).finditer(text):
        bracket = match[0]
        if bracket in OPENERS:
            stack.append(bracket)
        elif bracket in _PAIRS:
            if stack and stack[-1] == _PAIRS[bracket]:
                stack.pop()
            else:
                unmatched.append(match.start())
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
