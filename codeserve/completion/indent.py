"""Indentation and spaces in front, as the document has them and not as the model happens to.

What becomes of white space is decided when something follows it, so that a stream of text stays one.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import takewhile

from codeserve.completion.languages import MAKE, comment_marks, indents_blocks, opens_by_word
from codeserve.completion.lines import TAB, indentation, leading

__all__ = ["Indenter"]

_RULE = re.compile(r"[^\s#:=][^#:=]*::?(?!=)")  # of a makefile
_LINES = 100  # looked at for the document's habits


def _opens(line: str, language: str) -> bool:
    """Whether what is indented below ``line`` is its block, one level deep."""
    code = line.strip()
    colon = code.endswith(":") and indents_blocks(language)
    return code.endswith("{") or colon or opens_by_word(code, language)


class _Habits:
    """What a document indents with: tabs or spaces, and how many columns a level; None where unclear."""

    def __init__(self, above: list[str], below: list[str], language: str) -> None:
        steps: Counter[int] = Counter()
        tabs = spaces = 0
        for lines in (above, below):  # there is a gap between them, no step from one to the other
            former, base = "", 0
            for line in filter(str.strip, lines):
                tabs += "\t" in leading(line)
                spaces += line.startswith("  ")
                column = indentation(line)
                if column > base + 1 and _opens(former, language):
                    steps[column - base] += 1
                former, base = line, column
        self.tabs = None if bool(tabs) == bool(spaces) else bool(tabs)
        step, count = max(steps.items(), key=lambda item: item[1], default=(0, 0))
        self.unit = step if 4 * count > 3 * steps.total() else None
        if self.tabs:
            self.unit = TAB


class Indenter:
    """Passes on a completion's text with its indentation set right.

    - A single space in front is dropped where the document has one already, or the right indentation.
    - Lines take tabs or spaces as the document does, where it does so throughout.
    - A line below one that opens a block is one level deeper, where the document shows what a level is. One
      that is as deep as the lines that the block has below the cursor stays so, however deep that is.
    """

    def __init__(self, prefix: str, suffix: str, language: str) -> None:
        lines = prefix.rsplit("\n", _LINES)[-_LINES:]
        self._lines = lines
        self._suffix = suffix
        self._language = language
        self._comment = comment_marks(language)[0][0]
        self._head = lines[-1]
        self._line = lines[-1]  # the line that is being written
        self._above = next((line for line in reversed(lines[:-1]) if line.strip()), "")
        column = indentation(self._head if self._head.strip() else self._above)
        self._levels = [(column, column)]  # of blocks: the model's columns, and those that they become
        self._first = True  # the line is the cursor's
        self._waits = True  # for what follows the white space in front, of the text or of a line
        self._lead = ""

    @cached_property
    def _habits(self) -> _Habits:
        # not before it is needed, which is while the model is at work
        return _Habits(self._lines, self._below, self._language)

    def feed(self, text: str) -> str:
        """More text; gives what is settled."""
        if not self._waits and "\n" not in text:
            self._line += text
            return text
        return "".join(map(self._letter, text))

    def _letter(self, letter: str) -> str:
        if letter == "\n":
            out, self._lead = self._lead + letter, ""
            self._above = self._line if self._line.strip() else self._above
            self._line, self._first, self._waits = "", False, True
            return out
        if not self._waits:
            self._line += letter
            return letter
        if letter in " \t":
            self._lead += letter
            return ""
        out = (self._in_front(letter) if self._first else self._indentation(self._lead)) + letter
        self._line += out
        self._lead, self._waits = "", False
        return out

    def _in_front(self, letter: str) -> str:
        """What becomes of the white space between the cursor and ``letter``."""
        head, lead = self._head, self._lead
        if head.strip():
            doubled = lead == " " and head[-1] == " " and head[-2:] != "  "
            return "" if doubled and letter != self._comment else lead
        column = indentation(head)
        if lead == " " and column and (column == indentation(self._above) or not column % self._unit):
            lead = ""
        whole = self._indentation(head + lead)
        if whole.startswith(head):
            return whole[len(head) :]
        column = indentation(head + lead)
        self._levels[-1] = (column, column)  # it stands where the user has begun it
        return lead

    @property
    def _unit(self) -> int:
        return self._habits.unit or TAB

    @cached_property
    def _below(self) -> list[str]:
        return self._suffix.split("\n", _LINES)[1:_LINES]

    def _body(self, opener: int) -> int | None:
        """The column of what the block of a line at column ``opener`` has below the cursor; None: nothing."""
        columns = (indentation(line) for line in self._below if line.strip())
        return min(takewhile(lambda column: column > opener, columns), default=None)

    def _indentation(self, lead: str) -> str:
        if lead and self._language in MAKE and (self._above[:1] == "\t" or _RULE.match(self._above)):
            return lead if lead[0] == "\t" else "\t"  # a recipe: nothing else will do
        column = indentation(lead)
        while self._levels and self._levels[-1][0] > column:
            self._levels.pop()
        known, becomes = self._levels[-1] if self._levels else (column, column)
        step = column - known
        if step > 1 and self._habits.unit and _opens(self._above, self._language):
            step = step if becomes + step == self._body(becomes) else self._habits.unit
        becomes += step
        if step or not self._levels:
            self._levels.append((column, becomes))
        tabs = self._habits.tabs
        if becomes == column and (tabs is None or not lead or ("\t" in lead) == tabs):
            return lead
        if tabs or (tabs is None and "\t" in lead):
            return "\t" * (becomes // TAB) + " " * (becomes % TAB)
        return " " * becomes
