"""Which files Git's configuration names as ``core.excludesFile``, read without Git.

Syntax: git-config(1), "CONFIGURATION FILE". An ``includeIf`` counts whatever its condition says, and every
value counts rather than the last one: a pattern too many keeps a file here, one too few lets it out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

__all__ = ["excludes_files", "git_folder"]

Read = Callable[[Path], str]  # "" for a file that is not there

# Files with a configuration, and ignore files that they name.
MAX_FILES = 64

_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_VARIABLE = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*)")
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|\\(.)|([#;].*)|([^"\\#;]+)')


def git_folder(folder: Path, read: Read) -> Path:
    """Where a working tree's repository is: ``.git``, or what that says in a linked tree or a submodule."""
    own = folder / ".git"
    pointed = read(own).removeprefix("gitdir:").strip() if own.is_file() else ""
    if not pointed:
        return own
    linked = folder / pointed
    common = read(linked / "commondir").strip()
    return linked / common if common else linked


def excludes_files(git: Path | None, read: Read, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The user's global ignore files for the repository whose folder is ``git``, or for none.

    Raises: ValueError when there are more than anybody has, or files that include each other by many names.
    """
    home = Path(environ.get("HOME") or Path.home())
    own = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    files = [own / "config", home / ".gitconfig"]
    if environ.get("GIT_CONFIG_GLOBAL"):
        files = [Path(environ["GIT_CONFIG_GLOBAL"])]
    if not environ.get("GIT_CONFIG_NOSYSTEM"):
        files.insert(0, Path(environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"))
    if git is not None:
        files += [git / "config", git / "config.worktree"]
    seen: set[Path] = set()
    found = {path: None for file in files for path in _values(file, read, home, seen)}
    if len(found) > MAX_FILES:
        raise ValueError("Git's configuration names too many ignore files")
    return list(found) or [own / "ignore"]


def _values(file: Path, read: Read, home: Path, seen: set[Path]) -> Iterator[Path]:
    """The values of ``core.excludesFile`` in a file and those it includes, those not seen before."""
    if file in seen:
        return
    seen.add(file)
    if len(seen) > MAX_FILES:
        raise ValueError("Git's configuration includes too many files")
    for section, name, value in _variables(read(file)):
        if not value:
            continue
        path = file.parent / (home / value[2:] if value.startswith("~/") else value)
        if (section, name) == ("core", "excludesfile"):
            yield path
        elif section in ("include", "includeif") and name == "path":
            yield from _values(path, read, home, seen)


def _variables(text: str) -> Iterator[tuple[str, str, str]]:
    section = ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        header = _SECTION.match(line)
        if header is not None:
            section, line = header[1].lower(), line[header.end() :]
        variable = _VARIABLE.match(line)
        if variable is not None:
            yield section, variable[1].lower(), _value(variable[2])


def _value(text: str) -> str:
    """A value without its quotes, escapes and comment."""
    parts = []
    for quoted, escaped, comment, plain in _TOKEN.findall(text):
        if comment:
            break
        parts.append(re.sub(r"\\(.)", r"\1", quoted) or escaped or plain)
    return "".join(parts).strip()
