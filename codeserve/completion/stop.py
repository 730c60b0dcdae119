"""When a completion is over: at the end of a line, or of a block."""

from __future__ import annotations

from typing import Literal, Protocol

from codeserve.completion.block import BlockRule
from codeserve.completion.enclosing import place
from codeserve.completion.languages import comment_marks, indents_blocks
from codeserve.completion.lines import opens_block
from codeserve.protocol import Mode

__all__ = ["LEADING_NEWLINES", "EndlessRule", "LineRule", "StopRule", "resolve_mode", "stop_rule"]

LEADING_NEWLINES = 2  # in front of a line that may belong to it; behind more of them there is none
# What a line can go on with that the completion is the beginning of.
_GOES_ON = ("!", "%", "&", "(", "*", "+", ",", ".", "/", ":", ";", "=", "?", "[", "^", "|")
_NAMES = ("$", "@", "_")  # what begins a statement beside letters and digits


class StopRule(Protocol):
    """Watches one completion as it grows."""

    stopped: bool  # nothing further belongs to it
    line_over: bool  # the last line that belongs to it has ended; whether lines behind it do is not clear yet

    def scan(self, text: str, *, ended: bool = False) -> int:
        """How many characters of ``text``, all there is of the completion so far, belong to it.

        ``ended``: the model has come to its end, there is no more.
        """
        ...


def resolve_mode(mode: Mode, prefix: str, suffix: str, language: str) -> Literal["line", "block"]:
    """``auto`` is a block on a blank line and behind what opens one, by the grammar if there is one."""
    if mode != "auto":
        return mode
    if suffix.partition("\n")[0].strip():
        return "line"
    head = prefix[prefix.rfind("\n") + 1 :].rstrip()
    if not head:
        return "block"
    if not opens_block(head, language):
        return "line"
    where = place(prefix, language)
    colon = head.endswith(":") and indents_blocks(language)
    # what looks like an opening is none in a string or comment, nor is a colon that no statement has
    return "line" if where and (where.text or (colon and not where.statement)) else "block"


class LineRule:
    """Up to the end of the first line that is not blank.

    Newlines in front of it, two at most, are allowed when only white space follows the cursor on its line.
    In front of a line that stands there, a line that the model ends is one of its own: at the left edge it
    has its newline, further right, where the other would lose its indentation, nothing belongs to it. What is
    not ended, by a newline or as a whole, would run into the other: nothing belongs to it either.
    """

    def __init__(self, head: str, suffix: str, language: str) -> None:
        """``head`` is what stands in front of the cursor on its line."""
        self.stopped = self.line_over = False
        rest = suffix.partition("\n")[0].strip()
        self._newlines = 0 if rest else LEADING_NEWLINES
        self._edge = not head
        if self._edge:
            own = rest.startswith(comment_marks(language)[0].strip()) or not rest.startswith(_GOES_ON)
        else:
            own = rest[:1].isalnum() or rest[:1] in _NAMES
        self._own = bool(rest) and not head.strip() and own
        self._line = 0  # where the line that is being written starts
        self._end = 0

    def scan(self, text: str, *, ended: bool = False) -> int:
        while not self.stopped:
            newline = text.find("\n", self._line)
            if newline < 0:
                self._end = len(text) if ended or not self._own else 0
                break
            self._end = newline
            if self._newlines and not text[self._line : newline].strip():
                self._newlines -= 1
                self._line = newline + 1
            else:
                self.stopped = True
                if self._own:
                    self._end = newline + 1 if self._edge else 0
                    self.line_over = self._edge
        return self._end


class EndlessRule:
    """Everything there is; see `codeserve.completion.prompt.PromptBuilder`."""

    stopped = line_over = False

    def scan(self, text: str, *, ended: bool = False) -> int:
        return len(text)


def stop_rule(mode: Literal["line", "block", "endless"], prefix: str, suffix: str, language: str) -> StopRule:
    """The rule for a completion between ``prefix`` and ``suffix``."""
    if mode == "endless":
        return EndlessRule()
    head = prefix[prefix.rfind("\n") + 1 :]
    return LineRule(head, suffix, language) if mode == "line" else BlockRule(prefix, suffix, language)
