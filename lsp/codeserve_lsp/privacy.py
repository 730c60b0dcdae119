"""Which files must not leave this machine: secrets, what ignore files name, big ones.

Holds for the document itself as well as for every file that would go along with it. Ignore files count by
Git's rules: patterns of a folder apply below it, deeper files and later lines win, and below an ignored
folder nothing is taken back.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import attrs

from codeserve_lsp.globs import Budget
from codeserve_lsp.ignores import Ignores
from codeserve_lsp.patterns import Patterns, as_bytes
from codeserve_lsp.secret import is_secret

__all__ = ["FRESH_S", "Privacy"]

# A verdict holds this long without a look at the disk: a burst of typing asks once.
FRESH_S = 1.0
MAX_VERDICTS = 1_024
# How much one path may be compared with, in steps of some tenth of a microsecond: by more it is ruled out.
# A pattern costs some of them when its file is read.
MAX_WORK = 300_000
PATTERN_WORK = 10
# In a URI, as much as systems take for a path; and links on the way to a file, as Linux follows.
MAX_PATH = 4_096
MAX_LINKS = 40


@attrs.frozen
class _Verdict:
    """``names`` are what a file was called then (`_names`), none when it is no file."""

    when: float
    refused: bool
    names: tuple[str, ...]


class Privacy:
    """Decides by URI. ``folders`` are those of the workspace: ignore files above them do not count.

    Safe to be asked from several threads.
    """

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.max_bytes = 4_000_000
        self._ignores = Ignores()
        self._looked = 0.0  # when changes were looked for
        self._verdicts: dict[str, _Verdict] = {}
        self._rules = 0  # grows with each change of them

    def refuses(self, uri: str, size: int = 0, *, fresh_s: float | None = None) -> bool:
        """Whether a document with ``size`` characters stays here. A URI that cannot be read does.

        ``fresh_s``: how old a verdict may be, in seconds, so that the disk is not looked at (`FRESH_S`).
        """
        fresh_s = FRESH_S if fresh_s is None else fresh_s
        if size > self.max_bytes:
            return True
        now = time.monotonic()
        if now - self._looked >= fresh_s:
            self._looked = now
            if self._ignores.changed() or len(self._verdicts) > MAX_VERDICTS:
                self.forget()
        rules, known = self._rules, self._verdicts.get(uri)
        if known is not None and (now - known.when < fresh_s or self._holds(uri, known)):
            if now - known.when >= fresh_s:
                self._keep(uri, attrs.evolve(known, when=now), rules)
            return known.refused
        path = _path(uri)
        names = _file_names(path)  # before the decision: a link that changes meanwhile is noticed
        verdict = _Verdict(now, self._decide(uri, path), names)
        self._keep(uri, verdict, rules)
        return verdict.refused

    def _keep(self, uri: str, verdict: _Verdict, rules: int) -> None:
        """Note a verdict by ``rules``, unless another thread has seen them change meanwhile."""
        self._verdicts[uri] = verdict
        if rules != self._rules:  # looked at last, since they may change until it is noted
            self._verdicts.pop(uri, None)

    def forget(self) -> None:
        """Decide anew: folders, limits or ignore files have changed."""
        self._rules += 1
        self._verdicts.clear()

    def _holds(self, uri: str, known: _Verdict) -> bool:
        """Whether a file is what it was when it was let go: not behind another link, and not grown."""
        if known.refused or not known.names:
            return False
        try:
            return (
                _file_names(_path(uri)) == known.names and os.stat(known.names[-1]).st_size <= self.max_bytes
            )
        except OSError:
            return False

    def _decide(self, uri: str, path: Path | None) -> bool:
        if path is None:
            return True
        try:
            # other schemes show versions of files (git:) or remote ones: the same names, the same rules
            if path.is_absolute():
                return self.refuses_file(path)
            return not uri.startswith("untitled:") or is_secret(path)
        except (OSError, ValueError, RuntimeError):
            return True

    def refuses_file(self, path: Path) -> bool:
        """Whether a file stays here, by any of its names (`_names`) or by its size.

        Raises: OSError, ValueError when its folders or ignore files cannot be read.
        """
        if any(self._named(Path(name)) for name in _names(path)):
            return True
        return path.is_file() and path.stat().st_size > self.max_bytes

    def _named(self, path: Path) -> bool:
        root = self._root(path)
        if is_secret(path):
            return True
        inside = path.relative_to(root).parts
        names = [as_bytes(part) for part in inside]
        budget = Budget(MAX_WORK)
        current = root
        rules = list[tuple[int, Patterns]]()

        def add(depth: int) -> None:
            for patterns in self._ignores.sources(current, top=depth == 0):
                budget.spend(PATTERN_WORK * len(patterns))
                rules.append((depth, patterns))

        add(0)
        for depth, part in enumerate(inside, 1):
            last = depth == len(inside)
            verdict = None
            for base, patterns in rules:
                found = patterns.verdict("/".join(names[base:depth]), budget, folder=not last)
                verdict = verdict if found is None else found
            if verdict or part == ".git":
                return True
            if not last:
                current /= part
                add(depth)
        return False

    def _root(self, path: Path) -> Path:
        """The workspace folder or else the repository that a file is in, or else its own folder."""
        folders = [*self.folders, *(Path(os.path.realpath(folder)) for folder in self.folders)]
        holding = [folder for folder in folders if path.is_relative_to(folder)]
        inner = min(holding, key=lambda folder: len(folder.parts), default=None)
        for folder in path.parents:
            if self._ignores.is_repository(folder):
                return min(folder, inner or folder, key=lambda each: len(each.parts))
        return inner or path.parent


def _path(uri: str) -> Path | None:
    try:
        path = unquote(urlsplit(uri).path, errors="surrogateescape")
    except ValueError:
        return None
    return None if "\0" in path or len(path) > MAX_PATH else Path(path)


def _file_names(path: Path | None) -> tuple[str, ...]:
    """The names of a file, none for what is no file."""
    try:
        names = _names(path) if path is not None and path.is_absolute() else ()
        return names if names and os.path.isfile(names[-1]) else ()
    except (OSError, ValueError):
        return ()


def _names(path: Path) -> tuple[str, ...]:
    """What a file is called: as it is given, at each link on the way, and where it is by all of them.

    Raises: OSError for links without an end.
    """
    names = [str(path)]
    done, rest = "", [part for part in reversed(path.parts) if part != path.anchor]
    while rest:
        part = rest.pop()
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        here = f"{done}/{part}"
        try:
            target = os.readlink(here)
        except OSError:  # no link, or nothing at all
            done = here
            continue
        names.append("/".join([here, *reversed(rest)]))
        if len(names) > MAX_LINKS:
            raise OSError(errno.ELOOP, "too many links")
        if target.startswith("/"):
            done = ""
        rest += [part for part in reversed(target.split("/")) if part not in ("", ".")]
    return tuple(dict.fromkeys([*names, done or "/"]))
