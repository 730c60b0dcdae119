"""The patterns of one ignore file: which of them a path has to do with, by Git's rules (gitignore(5)).

A pattern means the file or folder that it names and nothing below it: whoever asks goes down from folder to
folder. Paths and patterns have one character for each byte (`as_bytes`), as Git compares them.
"""

from __future__ import annotations

import os
import re

import attrs

from codeserve_lsp.globs import Budget, Glob, TooMuch

__all__ = ["MAX_RULES", "Patterns", "as_bytes"]

# Of one file. A longer line names no path that a system takes.
MAX_RULES = 20_000
MAX_LINE = 4_096

_BOM = b"\xef\xbb\xbf"
_SPECIAL = re.compile(r"[*?\[\\]")


def as_bytes(text: str) -> str:
    """A path with one character for each of its bytes. Raises: UnicodeEncodeError."""
    return os.fsencode(text).decode("latin-1")


@attrs.define
class _Rule:
    """One that has wildcards. ``prefix`` is what stands before them in a pattern for whole paths."""

    number: int
    folders_only: bool
    by_name: bool
    prefix: str
    rest: str
    glob: Glob | None = None  # made when it is asked for first

    def matches(self, path: str, name: str, budget: Budget) -> bool:
        if not self.by_name and not path.startswith(self.prefix):
            return False
        if self.glob is None:
            self.glob = Glob(self.rest, budget)
        return self.glob.matches(name if self.by_name else path[len(self.prefix) :], budget)


class Patterns:
    """Raises: TooMuch for a file with more or longer patterns than anybody writes."""

    def __init__(self, content: bytes) -> None:
        lines = content.removeprefix(_BOM).decode("latin-1").split("\n")
        if len(lines) > MAX_RULES or max(map(len, lines)) > MAX_LINE:
            raise TooMuch("an ignore file is too long")
        self._negative: list[bool] = []
        # the number of the last rule for a name or a path; those for files do without those for folders only
        self._names: tuple[dict[str, int], dict[str, int]] = {}, {}
        self._paths: tuple[dict[str, int], dict[str, int]] = {}, {}
        self._rules: list[_Rule] = []
        for line in lines:
            if not line.startswith("#"):
                self._add(_trimmed(line.removesuffix("\r").partition("\0")[0]))
        self._rules.reverse()  # the last one wins

    def _add(self, pattern: str) -> None:
        negative = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        folders_only = pattern.endswith("/")
        pattern = pattern.removesuffix("/")
        by_name = "/" not in pattern
        pattern = pattern.removeprefix("/")
        if not pattern:
            return
        number = len(self._negative)
        self._negative.append(negative)
        special = _start(pattern)
        if special == len(pattern):
            for known in (self._names if by_name else self._paths)[folders_only:]:
                known[pattern] = number
        else:
            at = 0 if by_name else special
            self._rules.append(_Rule(number, folders_only, by_name, pattern[:at], pattern[at:]))

    def __len__(self) -> int:
        """How many patterns there are."""
        return len(self._negative)

    def verdict(self, path: str, budget: Budget, *, folder: bool) -> bool | None:
        """Whether a path, relative to the file's folder, is ruled out (True) or taken back (False) here.

        None when no pattern means it. Raises: TooMuch.
        """
        name = path.rpartition("/")[2]
        last = max(self._names[folder].get(name, -1), self._paths[folder].get(path, -1))
        budget.spend(len(self._rules))
        for rule in self._rules:
            if rule.number < last:
                break
            if (folder or not rule.folders_only) and rule.matches(path, name, budget):
                last = rule.number
                break
        return None if last < 0 else not self._negative[last]


def _start(pattern: str) -> int:
    """Where the first wildcard is, else the end."""
    found = _SPECIAL.search(pattern)
    return found.start() if found is not None else len(pattern)


def _trimmed(line: str) -> str:
    """Without the spaces at its end, save one behind a backslash."""
    text = line.rstrip(" ")
    escapes = len(text) - len(text.rstrip("\\"))
    return line[: len(text) + 1] if escapes % 2 else text
