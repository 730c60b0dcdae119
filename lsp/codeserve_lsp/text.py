"""Lines and positions as the Language Server Protocol counts them.

Lines end with ``\\n``, ``\\r\\n`` or ``\\r`` and with nothing else (LSP 3.18, "Text Documents").
`str.splitlines` also splits at form feeds, U+2028 and more, which shifts every line below. Columns count code
units of the encoding that was agreed on. Text in Python counts code points.

Neovim writes a byte of its buffer that is no UTF-8 into its messages as it is. Such a byte is kept as the
lone surrogate U+DC80 to U+DCFF that Python has for it (PEP 383). It is one column: in UTF-8 as any byte, and
in the other encodings Neovim counts it so (its manual, ``vim.str_utfindex()``).
"""

from __future__ import annotations

import itertools
import re
from typing import Literal

__all__ = [
    "Encoding",
    "ambiguous",
    "content",
    "half",
    "join_surrogates",
    "line_end",
    "newlines",
    "split_at",
    "split_lines",
    "units",
]

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Bytes that are no UTF-8 and look like a character all the same: a surrogate, or one behind U+10FFFF. Some
# count them as one column, some as one for each byte.
_AMBIGUOUS = re.compile("\udced[\udca0-\udcbf]|[\udcf4-\udcfd][\udc80-\udcbf]")


def split_lines(text: str) -> list[str]:
    """The lines of ``text``, each with its line end; the last one, which may be empty, has none."""
    if "\r" not in text:
        parts = text.split("\n")
        return [part + "\n" for part in parts[:-1]] + parts[-1:]
    lines = _LINE.findall(text)
    return [*lines, text[sum(map(len, lines)) :]]


def content(line: str) -> str:
    """``line`` without its line end."""
    if line.endswith("\r\n"):
        return line[:-2]
    return line[:-1] if line.endswith(("\n", "\r")) else line


def newlines(text: str) -> str:
    """``text`` with ``\\n`` for each line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def line_end(lines: list[str]) -> str:
    """The line end that most of the lines have, ``\\n`` when there is none."""
    text = "".join(lines)
    both = text.count("\r\n")
    ends = {"\r\n": both, "\n": text.count("\n") - both, "\r": text.count("\r") - both}
    most = max(ends, key=ends.__getitem__)
    return most if ends[most] else "\n"


def units(text: str, encoding: Encoding) -> int:
    """How many code units ``text`` takes."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    if half(text):
        return sum(map(_bytes, text))
    return len(text.encode())


def _bytes(character: str) -> int:
    """How many bytes a character has in UTF-8, one that stands for a byte being that byte."""
    if "\udc80" <= character <= "\udcff":
        return 1
    return len(character.encode("utf-8", "surrogatepass"))


def split_at(line: str, character: int, encoding: Encoding) -> tuple[str, str]:
    """``line`` before and from the column ``character``; a column behind the content means its end.

    In UTF-16 a column may stand inside a surrogate pair: each part then gets its half of it. In UTF-8 one
    inside a character means that character's start.
    """
    text = content(line)
    character = max(character, 0)
    if encoding == "utf-32" or line.isascii():
        column = min(character, len(text))
        return line[:column], line[column:]
    if encoding == "utf-16":
        raw = text.encode("utf-16-le", "surrogatepass")
        head = raw[: 2 * character].decode("utf-16-le", "surrogatepass")
        tail = raw[2 * character :].decode("utf-16-le", "surrogatepass")
        return head, tail + line[len(text) :]
    if half(text):
        ends = itertools.accumulate(map(_bytes, text))
        column = next((i for i, end in enumerate(ends) if end > character), len(text))
        return line[:column], line[column:]
    raw = text.encode()
    while 0 < character < len(raw) and raw[character] & 0xC0 == 0x80:
        character -= 1
    column = len(raw[:character].decode())
    return line[:column], line[column:]


def half(text: str) -> bool:
    """Whether ``text`` has lone surrogates: halves of characters, or bytes that are no UTF-8."""
    return _SURROGATE.search(text) is not None


def join_surrogates(text: str) -> str:
    """``text`` with each surrogate pair, which edits may have put together, as one character."""
    if not half(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def ambiguous(text: str) -> bool:
    """Whether ``text`` has bytes that are no UTF-8 and of which it is not sure how many columns they are."""
    return not text.isascii() and _AMBIGUOUS.search(text) is not None
