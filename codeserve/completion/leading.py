"""Blank lines that a model writes in front of the one line that it was asked for."""

from __future__ import annotations

import re

from codeserve.completion.languages import is_prose
from codeserve.completion.lines import TAB, indentation, opens_block
from codeserve.completion.stop import LEADING_NEWLINES

__all__ = ["LeadingLines"]

_CLOSES = re.compile(r"[)\]}]|(?:end|done|fi|esac)\b")
_BELONGS = (")", "]", "}", "</", '"', "'")  # begins a line that ends what is above
_SPACE = " \t\n"


class LeadingLines:
    """Takes them away where the cursor stands on a blank line itself: the line belongs there.

    They stay where they say something: between paragraphs, in a language that is not known too, and between
    a block and what follows it at the margin. A line that is indented less than the cursor cannot be written
    there and keeps them too.
    """

    def __init__(self, prefix: str, suffix: str, language: str) -> None:
        above, _, self._head = prefix.rpartition("\n")
        above = above[above.rfind("\n") + 1 :]
        rest = suffix.partition("\n")[0]
        blank = not self._head.strip(_SPACE) and not rest.strip()
        # whether what was written so far, white space alone, may go
        self._open = blank and not is_prose(language)
        ends = indentation(above) > 0 or _CLOSES.match(above) is not None
        self._block_above = bool(above.strip()) and ends and not opens_block(above.rstrip(), language)
        self._held = ""

    def feed(self, text: str) -> str:
        """What is settled of the completion with ``text`` behind it; white space alone never is."""
        if not self._open:
            return text
        self._held += text
        line = self._held.lstrip(_SPACE)
        lead = self._held[: len(self._held) - len(line)]
        newlines = lead.count("\n")
        if not line and newlines <= LEADING_NEWLINES:
            return ""
        self._open = False
        own = lead[lead.rfind("\n") + 1 :]
        apart = self._block_above and not own and not line.startswith(_BELONGS)
        if 0 < newlines <= LEADING_NEWLINES and not apart:
            deeper = _deeper(self._head, own)
            if deeper is not None:
                return deeper + line
        return self._held


def _deeper(head: str, own: str) -> str | None:
    """What a line that is indented by ``own`` needs behind ``head``, in tabs where that one is; None when it
    is indented less.
    """
    if own.startswith(head):
        return own[len(head) :]
    columns = indentation(own) - indentation(head)
    if columns < 0:
        return None
    tabs, spaces = divmod(columns, TAB) if head.endswith("\t") else (0, columns)
    return "\t" * tabs + " " * spaces
