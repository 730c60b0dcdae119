"""Blank lines that a model writes in front of the one line that it was asked for."""

from __future__ import annotations

from codeserve.completion.stop import LEADING_NEWLINES

__all__ = ["LeadingLines"]


class LeadingLines:
    """Takes them away where the cursor stands on a blank line itself: the line belongs there.

    A line that is indented less than the cursor cannot be written there: it keeps its newlines.
    """

    def __init__(self, prefix: str, suffix: str) -> None:
        self._head = prefix[prefix.rfind("\n") + 1 :]
        rest = suffix.partition("\n")[0]
        self._open = not self._head.strip() and not rest.strip()  # nothing but white space so far
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
        indentation = lead[lead.rfind("\n") + 1 :]
        if 0 < newlines <= LEADING_NEWLINES and indentation.startswith(self._head):
            return indentation[len(self._head) :] + line
        return self._held
