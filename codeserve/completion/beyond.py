"""How far a completion may go on behind the block of its first line, where indentation alone ends blocks."""

from __future__ import annotations

import re

from codeserve.completion.brackets import CLOSERS
from codeserve.completion.languages import indents_blocks
from codeserve.completion.lines import indentation

__all__ = ["Beyond"]

_DATA = frozenset({"yaml"})  # nested, but there is no function to end with
_BEGINNINGS = ("async def", "cdef", "class", "cpdef", "def", "fn", "func", "proc", "struct")
# A name has to follow: some of these words are names themselves, as in `func(x)` or `proc = 1`.
_DEFINITION = re.compile(rf"@|(?:{'|'.join(_BEGINNINGS)})[ \t]+[\w`]")


class Beyond:
    """Lines behind a block, on a blank line whose own indentation does not say where the block ends.

    They go on down to the cursor's column, but not to the left edge: that is where functions end, and so does
    a line that begins another function or class; and not to a bracket below the cursor, which ends what it
    encloses. They count only once the text has come to an end, and if the line below the cursor can follow.
    """

    def __init__(self, cursor: int, below: str, language: str) -> None:
        """``cursor`` is the column that the cursor stands in, ``below`` the line below, "" for none."""
        self._able = indents_blocks(language) and language not in _DATA
        self._below = indentation(below)
        enclosed = below.lstrip().startswith(tuple(CLOSERS))
        self._least = max(cursor, 1, self._below + 1 if enclosed else 0)

    def admits(self, code: str, column: int, whole: bool) -> bool | None:
        """Whether a line goes on in the same function; None while that cannot be told.

        ``code`` is the line from ``column`` on, as far as it is there, or ``whole``.
        """
        if not self._able or column < self._least:
            return False
        if not whole and any(words.startswith(code.rstrip()) for words in _BEGINNINGS):
            return None
        return _DEFINITION.match(code) is None

    def fits(self, column: int, opens: bool) -> bool:
        """Whether the line below can follow a last line at ``column``, that ``opens`` a block or does not."""
        return opens or column >= self._below
