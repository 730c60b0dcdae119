"""Which files must not leave this machine: secrets, what ignore files name, big ones.

Holds for the document itself as well as for every file that would go along with it. The ignore files are
``.gitignore`` and ``.codeserveignore``, by Git's rules: patterns of a folder apply below it, deeper files and
later lines win, and below an ignored folder nothing is taken back.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pathspec import GitIgnoreSpec

__all__ = ["Privacy"]

IGNORE_FILES = (".gitignore", ".codeserveignore")

# Files that hold credentials by their very purpose. Examples and templates of them do not.
SECRETS = (
    ".env",
    ".env.*",
    "!.env.example",
    "!.env.sample",
    "!.env.template",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.gpg",
    "*.asc",
    "*.ovpn",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".ssh/",
    ".gnupg/",
    ".aws/",
    ".kube/",
    ".docker/config.json",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".htpasswd",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "credentials",
    "*secret*.y*ml",
    "*secret*.json",
    "*service-account*.json",
    "credentials.json",
    "credentials.yml",
    "credentials.yaml",
    "credentials.toml",
    "credentials.ini",
    "credentials.txt",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
    "secrets.ini",
    "secrets.txt",
)

# A verdict holds this long: patterns that are being edited apply soon, and a burst of typing asks once.
FRESH_S = 1.0


@lru_cache(maxsize=512)
def _spec(path: Path, modified: int, size: int) -> GitIgnoreSpec:
    """The patterns of a file, read again when it has changed. A line that is no pattern is passed over."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    kept = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        kept.append(line)
    return GitIgnoreSpec.from_lines(kept)


def _rules(path: Path) -> GitIgnoreSpec | None:
    """Raises: OSError when the file is there and cannot be read: nobody knows then what it forbids."""
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _spec(path, stat.st_mtime_ns, stat.st_size) if path.is_file() else None


class Privacy:
    """Decides by URI. ``folders`` are those of the workspace: ignore files above them do not count."""

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.max_bytes = 4_000_000
        self._secrets = GitIgnoreSpec.from_lines(SECRETS)
        self._verdicts: dict[str, tuple[float, bool]] = {}

    def refuses(self, uri: str, size: int = 0) -> bool:
        """Whether a document with ``size`` characters stays here. A URI that cannot be read does."""
        if size > self.max_bytes:
            return True
        now = time.monotonic()
        known = self._verdicts.get(uri)
        if known is not None and now - known[0] < FRESH_S:
            return known[1]
        if len(self._verdicts) > 1024:
            self._verdicts.clear()
        verdict = self._decide(uri)
        self._verdicts[uri] = (now, verdict)
        return verdict

    def forget(self) -> None:
        """Decide anew: folders or limits have changed."""
        self._verdicts.clear()

    def _decide(self, uri: str) -> bool:
        try:
            parts = urlsplit(uri)
            path = Path(unquote(parts.path))
            if parts.scheme == "untitled":
                return self._secrets.match_file(path.name)
            # other schemes show versions of files (git:) or remote ones: the same names, the same rules
            return self.refuses_file(path) if path.is_absolute() else True
        except (OSError, ValueError, RuntimeError):
            return True

    def refuses_file(self, path: Path) -> bool:
        """Whether a file stays here, also by the name that a link points to, or by its size.

        Raises: OSError when its folders or ignore files cannot be read.
        """
        if any(self._named(each) for each in {path, path.resolve()}):
            return True
        return path.is_file() and path.stat().st_size > self.max_bytes

    def _named(self, path: Path) -> bool:
        root = self._root(path)
        inside = path.relative_to(root)
        if self._secrets.match_file(str(path).lstrip("/")):
            return True
        rules = list(_sources(root))
        for depth, part in enumerate(inside.parts):
            current = root.joinpath(*inside.parts[: depth + 1])
            last = depth == len(inside.parts) - 1
            verdict = None
            for base, spec in rules:
                found = spec.check_file(str(current.relative_to(base)) + ("" if last else "/")).include
                verdict = verdict if found is None else found
            if verdict or part == ".git":
                return True
            if not last:
                rules += _sources(current)
        return False

    def _root(self, path: Path) -> Path:
        """The workspace folder or else the repository that a file is in, or else its own folder."""
        holding = [folder for folder in self.folders if path.is_relative_to(folder)]
        inner = min(holding, key=lambda folder: len(folder.parts), default=None)
        for folder in path.parents:
            if (folder / ".git").exists():
                return min(folder, inner or folder, key=lambda each: len(each.parts))
        return inner or path.parent


def _sources(folder: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    names: Iterable[str] = (".git/info/exclude", *IGNORE_FILES)
    for name in names:
        spec = _rules(folder / name)
        if spec is not None:
            yield folder, spec
