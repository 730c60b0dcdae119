"""Blank lines that a model writes in front of the one line that it was asked for."""

from __future__ import annotations

from codeserve.completion.languages import is_prose
from codeserve.completion.lines import TAB, indentation
from codeserve.completion.stop import LEADING_NEWLINES

__all__ = ["LeadingLines"]

_CLOSES = (")", "]", "}")


class LeadingLines:
    """Takes them away where the cursor stands on a blank line itself: the line belongs there.

    They stay where they say something: between paragraphs, and between a block and what follows it at the
    margin. A line that is indented less than the cursor cannot be written there and keeps them too.
    """

    def __init__(self, prefix: str, suffix: str, language: str) -> None:
        above, _, self._head = prefix.rpartition("\n")
        above = above[above.rfind("\n") + 1 :]
        rest = suffix.partition("\n")[0]
        blank = not self._head.strip() and not rest.strip()
        self._open = blank and not is_prose(language)  # nothing but white space so far
        self._block_above = bool(above.strip()) and (indentation(above) > 0 or above.startswith(_CLOSES))
        self._held = ""

    def feed(self, text: str) -> str:
        """What is settled of the completion with ``text`` behind it; white space alone never is."""
        if not self._open:
            return text
        self._held += text
        line = self._held.lstrip()
        lead = self._held[: len(self._held) - len(line)]
        newlines = lead.count("\n")
        if not line and newlines <= LEADING_NEWLINES:
            return ""
        self._open = False
        own = lead[lead.rfind("\n") + 1 :]
        if 0 < newlines <= LEADING_NEWLINES and (own or not self._block_above):
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
