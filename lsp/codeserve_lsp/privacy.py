"""Which files must not leave this machine: secrets, what ignore files name, big ones.

Holds for the document itself as well as for every file that would go along with it. Ignore files count by
Git's rules: patterns of a folder apply below it, deeper files and later lines win, and below an ignored
folder nothing is taken back.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import attrs

from codeserve_lsp.globs import Budget
from codeserve_lsp.ignores import Ignores
from codeserve_lsp.patterns import Patterns, as_bytes

__all__ = ["FRESH_S", "Privacy"]

# Files that hold credentials by their very purpose, also in capitals. Examples and templates of them do not.
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
    "*.p8",
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
    "kubeconfig",
    ".docker/config.json",
    ".dockercfg",
    ".vault-token",
    ".my.cnf",
    ".s3cfg",
    ".boto",
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

# A verdict holds this long without a look at the disk: a burst of typing asks once.
FRESH_S = 1.0
MAX_VERDICTS = 1_024
# What one path may be compared with, in steps of globs (some 50 ms of them): by more it is ruled out.
MAX_WORK = 500_000


@attrs.frozen
class _Verdict:
    """``real`` is where the file was then, by all links; "" when it is no file."""

    when: float
    refused: bool
    real: str


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
        verdict = _Verdict(now, self._decide(uri, path), _real(path))
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
        if known.refused or not known.real:
            return False
        try:
            return _real(_path(uri)) == known.real and os.stat(known.real).st_size <= self.max_bytes
        except OSError:
            return False

    def _decide(self, uri: str, path: Path | None) -> bool:
        if path is None:
            return True
        if uri.startswith("untitled:"):
            return _is_secret(Path(path.name))
        try:
            # other schemes show versions of files (git:) or remote ones: the same names, the same rules
            return self.refuses_file(path) if path.is_absolute() else True
        except (OSError, ValueError, RuntimeError):
            return True

    def refuses_file(self, path: Path) -> bool:
        """Whether a file stays here, also by the name that a link points to, or by its size.

        Raises: OSError, ValueError when its folders or ignore files cannot be read.
        """
        if any(self._named(each) for each in {path, path.resolve()}):
            return True
        return path.is_file() and path.stat().st_size > self.max_bytes

    def _named(self, path: Path) -> bool:
        root = self._root(path)
        if _is_secret(path):
            return True
        inside = path.relative_to(root).parts
        names = [as_bytes(part) for part in inside]
        budget = Budget(MAX_WORK)
        current = root
        rules = [(0, patterns) for patterns in self._ignores.sources(root, top=True)]
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
                rules += [(depth, patterns) for patterns in self._ignores.sources(current, top=False)]
        return False

    def _root(self, path: Path) -> Path:
        """The workspace folder or else the repository that a file is in, or else its own folder."""
        holding = [folder for folder in self.folders if path.is_relative_to(folder)]
        inner = min(holding, key=lambda folder: len(folder.parts), default=None)
        for folder in path.parents:
            if self._ignores.is_repository(folder):
                return min(folder, inner or folder, key=lambda each: len(each.parts))
        return inner or path.parent


_SECRETS = Patterns("\n".join(SECRETS).encode())


def _is_secret(path: Path) -> bool:
    """Whether a file or a folder that it is in holds credentials by its name."""
    names = [as_bytes(part).lower() for part in path.parts if part != path.anchor]
    budget = Budget(MAX_WORK)
    return any(
        _SECRETS.verdict("/".join(names[:depth]), budget, folder=depth < len(names))
        for depth in range(1, len(names) + 1)
    )


def _path(uri: str) -> Path | None:
    try:
        path = unquote(urlsplit(uri).path, errors="surrogateescape")
    except ValueError:
        return None
    return None if "\0" in path else Path(path)


def _real(path: Path | None) -> str:
    """Where a file is by all links, "" for none."""
    try:
        real = os.path.realpath(path) if path is not None and path.is_absolute() else ""
        return real if os.path.isfile(real) else ""
    except (OSError, ValueError):
        return ""
