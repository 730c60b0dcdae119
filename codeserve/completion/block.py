"""Where a block ends: at a dedent, at what the document goes on with, or where the model loops."""

from __future__ import annotations

import re
from functools import cached_property

from codeserve.completion.beyond import Beyond
from codeserve.completion.brackets import CLOSERS, OPENERS, balance
from codeserve.completion.enclosing import place
from codeserve.completion.languages import indents_blocks, opens_tag
from codeserve.completion.lines import indentation, line_below, loop_length, opens_block, statement_column

__all__ = ["MAX_LINES", "BlockRule"]

MAX_LINES = 24
_LEADING_BLANKS = 3
_LOOKED_AT = 200  # lines below the cursor, for the end of its block

# What closes a block without a bracket, in Ruby, Lua, shells, Fortran, Verilog, …
_WORDS = frozenset(
    {"done", "end", "endcase", "endfor", "endfunction", "endif", "endmodule", "endwhile", "esac", "fi"}
)
# Clauses without which a statement is not whole.
_CLAUSES = frozenset({"else", "except", "finally"})
_CLAUSED = re.compile(r"\s*try\b")


def _missing_closer(prefix: str, suffix: str, language: str) -> tuple[str, int] | None:
    """The bracket that would end the block the cursor stands in, and its column; None where there is one."""
    where = place(prefix, language)
    if where is None or not where.bracket:
        return None
    closer, column = CLOSERS[OPENERS.index(where.bracket)], indentation(where.line)
    for line in suffix.split("\n", _LOOKED_AT)[1:]:
        if line.strip() and indentation(line) <= column:
            return None if line.lstrip()[0] in CLOSERS and indentation(line) == column else (closer, column)
    return closer, column


class BlockRule:
    """The block that the cursor stands in, or that its line opens.

    It ends before a line that is indented less; a line that closes what the completion or the cursor's line
    opened still belongs to it, unless the document has it already. It also ends at two blank lines, at the
    line that follows in the document, at a loop and after `MAX_LINES`; and with the bracket that closes the
    block around the cursor, by the grammar, where the document does not have it. From a blank line it may
    go on behind the block of its first line: `codeserve.completion.beyond`.
    """

    def __init__(self, prefix: str, suffix: str, language: str) -> None:
        self.stopped = self.line_over = False
        self._language = language
        self._head = prefix[prefix.rfind("\n") + 1 :]
        self._below = line_below(suffix)
        head = self._head.rstrip()
        self._own_line = bool(head)  # the cursor's line has code
        self._colon = indents_blocks(language)
        self._opens = opens_block(head, language)
        self._column = statement_column(prefix, language) if self._opens else indentation(self._head)
        self._floor = self._column + self._opens  # lines indented less end the block
        self._open = balance(head, language).open  # brackets
        tag = opens_tag(head, language)
        self._close_tag = f"</{tag}" if tag else ""
        self._claused = self._colon and self._opens and _CLAUSED.match(head) is not None
        self._around = prefix, suffix
        self._beyond = Beyond(self._column, self._below, language)
        self._block: int | None = None  # the end of the first line's block, once there is more
        self._cut_short = False  # by a loop or the limit, not at an end
        self._line = 0  # where the line that is being written starts
        self._kept = 0  # the end of the last line that counts
        self._lines: list[str] = []  # those that are not blank, the first one with what it continues
        self._ends: list[int] = []
        self._blanks = 0
        self._total = 0

    def scan(self, text: str, *, ended: bool = False) -> int:
        belongs = self._scan(text)
        if self._block is None:
            return belongs
        over = (ended or self.stopped) and not self._cut_short
        self.line_over = not (over and self._fits(text[:belongs]))
        return min(belongs, self._block) if self.line_over else belongs

    def _scan(self, text: str) -> int:
        while not self.stopped:
            newline = text.find("\n", self._line)
            line = text[self._line :] if newline < 0 else text[self._line : newline]
            admitted = self._admits(line, newline >= 0)
            if admitted is False:
                self.stopped = True
            elif newline < 0:
                return len(text) if admitted else self._kept
            else:
                self._complete(line, newline)
                self._line = newline + 1
        return self._kept

    def _admits(self, line: str, whole: bool) -> bool | None:
        """Whether the line belongs to the block; None while that cannot be told, or for a blank line."""
        code = line.lstrip(" \t")
        if self._line == 0:
            return True
        if not code:
            return None
        column = indentation(line)
        if self._ends_around(code, column):
            return True
        if code[0] in CLOSERS and (column < self._floor or (self._own_line and column <= self._column)):
            return bool(self._open) and not self._closed_below(code[0], column)
        if column >= self._floor or self._is_flush(code, column):
            return True
        if not self._own_line:
            goes_on = self._beyond.admits(code, column, whole)
            if goes_on and self._block is None:
                self._block = self._kept
            return goes_on
        return column == self._column and self._closes_by_word(code, whole)

    def _fits(self, text: str) -> bool:
        """Whether the line below can follow ``text``."""
        last = text.rstrip().rpartition("\n")[2]
        unfinished = text[self._line :]  # the brackets of the lines in front of it are counted
        opens = opens_block(last, self._language) or bool(
            balance(unfinished, self._language, self._open).open
        )
        return self._beyond.fits(indentation(last), opens)

    def _is_flush(self, code: str, column: int) -> bool:
        """Whether this is the first line of a body that is not indented: Go's `case`, YAML's lists, …"""
        brace = self._head.rstrip().endswith("{") or (self._language == "yaml" and code.startswith("-"))
        flush = self._opens and not self._lines and brace
        return flush and column == self._column and code[0] not in CLOSERS

    def _ends_around(self, code: str, column: int) -> bool:
        """Whether the line is the end, missing so far, of the block around a cursor on a blank line."""
        return code[0] in CLOSERS and not self._own_line and self._missing == (code[0], column)

    @cached_property
    def _missing(self) -> tuple[str, int] | None:
        return _missing_closer(*self._around, self._language)

    def _closed_below(self, closer: str, column: int) -> bool:
        return self._below.lstrip().startswith(closer) and indentation(self._below) == column

    def _closes_by_word(self, code: str, whole: bool) -> bool | None:
        tag, word = self._close_tag, re.match(r"\w*", code)
        if tag and code.startswith(tag):
            return not self._closed_below(tag, self._column)
        clauses = _CLAUSES if self._claused else frozenset()
        if word and word[0] in _WORDS | clauses:
            return not self._closed_below(word[0], self._column)
        begun = any(closer.startswith(code) for closer in (tag, *_WORDS, *clauses))
        return None if begun and not whole else False

    def _complete(self, line: str, newline: int) -> None:
        """Take in a line that is whole; may end the block before or behind it."""
        first = self._line == 0
        full = (self._head + line if first else line).rstrip()
        self._total += 1
        if not line.strip():
            self._blanks += not (first and self._own_line)
            self.stopped = self._blanks > (1 if self._lines else _LEADING_BLANKS)
            return
        self._blanks = 0
        symbols = not any(letter.isalnum() for letter in full)
        if full == self._below and not (symbols and self._open):
            self.stopped = True
            return
        column = indentation(full)
        self._set_floor(full, column, first)
        self._lines.append(full)
        self._ends.append(newline)
        self._kept = newline
        length = loop_length(self._lines)
        if length:
            self._kept = self._ends[-2 * length - 1]
        self._cut_short = bool(length) or self._total >= MAX_LINES
        if not first and self._ends_around(full.lstrip(), column):
            self.stopped = True
            return
        closing = not first and self._own_line and column <= self._column and self._closes(full)
        self._open = balance(line, self._language, self._open).open
        over = closing and not opens_block(full, self._language) and not self._open
        self.stopped = self._cut_short or over

    def _closes(self, full: str) -> bool:
        code = full.lstrip()
        return code[0] in CLOSERS or self._floor > self._column

    def _set_floor(self, full: str, column: int, first: bool) -> None:
        if not self._own_line and not self._lines:
            self._floor = column
        elif not first and self._is_flush(full.lstrip(), column):
            self._floor = self._column
        elif not first and self._own_line and column > self._column and not self._opens:
            self._floor = self._column + 1
