"""The ignore files of folders, read again when they have changed.

Which patterns apply and which win: gitignore(5). Of falling weight: ``.codeserveignore``, ``.gitignore``, the
repository's ``info/exclude``, the user's ``core.excludesFile``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from codeserve.client import read_regular
from codeserve_lsp.gitconfig import excludes_files, git_folder
from codeserve_lsp.patterns import Patterns

__all__ = ["IGNORE_FILES", "Ignores"]

IGNORE_FILES = (".gitignore", ".codeserveignore")

# Files whose change is noticed; beyond them everything is decided anew.
MAX_WATCHED = 2_048
# Of an ignore file, and of one of Git's.
MAX_BYTES = 1_000_000

_Stamp = tuple[int, int] | bool | None


@lru_cache(maxsize=128)
def _patterns(path: Path, modified: int, size: int) -> Patterns:
    """Raises: OSError, ValueError when nobody can know what a file says."""
    return Patterns(read_regular(path, MAX_BYTES))


def _stamp(path: Path) -> _Stamp:
    """What changes with a file; of ``.git`` only whether it is there, since each commit changes the folder.

    Raises: OSError when nobody can know.
    """
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return True if path.name == ".git" else (stat.st_mtime_ns, stat.st_size)


class Ignores:
    """Reads ignore files and remembers which ones, and that some are not there."""

    def __init__(self) -> None:
        self._watched: dict[Path, _Stamp] = {}

    def changed(self) -> bool:
        """Whether anything that was looked at since has changed. It is to be looked at anew then."""
        try:
            changed = any(_stamp(path) != stamp for path, stamp in list(self._watched.items()))
        except OSError:
            changed = True
        if changed or len(self._watched) > MAX_WATCHED:
            self._watched.clear()
            return True
        return False

    def is_repository(self, folder: Path) -> bool:
        """Whether a folder is the top of a working tree."""
        return self._look(folder / ".git") is not None

    def sources(self, folder: Path, *, top: bool) -> Iterator[Patterns]:
        """The patterns that hold from a folder on downwards, those of least weight first.

        ``top`` is the folder where looking begins: the user's own patterns hold there also without Git.
        Raises: OSError, ValueError when a file is there and cannot be read: nobody knows what it forbids.
        """
        names: list[Path] = []
        if self.is_repository(folder):
            git = git_folder(folder, self._text)
            names = [*excludes_files(git, self._text), git / "info" / "exclude"]
        elif top:
            names = excludes_files(None, self._text)
        for path in (*names, *(folder / name for name in IGNORE_FILES)):
            stamp = self._look(path)
            if isinstance(stamp, tuple) and path.is_file():
                yield _patterns(path, *stamp)

    def _look(self, path: Path) -> _Stamp:
        self._watched[path] = stamp = _stamp(path)
        return stamp

    def _text(self, path: Path) -> str:
        if self._look(path) is None or not path.is_file():
            return ""
        return read_regular(path, MAX_BYTES).decode("utf-8-sig", "replace")
