"""Fetching pinned packages, without a registry."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from codeserve.bench.quality import heldout
from codeserve.bench.quality.heldout import Package, cache_folder, corpus_folder, fetch, read_packages
from codeserve.errors import ConfigError

PERMISSIVE = {"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC"}


def wheel(files: dict[str, str]) -> bytes:
    """A wheel's bytes."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def tarball(files: dict[str, str]) -> bytes:
    """An npm tarball's bytes."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


WHEEL = wheel(
    {"pkg/a.py": "x = 1\n", "pkg/data.json": "{}", "../out.py": "bad\n", "pkg/big.py": "x" * (2 << 20)}
)
TARBALL = tarball({"package/src/a.ts": "let a\n", "package/dist/a.js": "a", "package/src/../../b.ts": "bad"})


def package(registry: str, data: bytes, folder: str = "") -> Package:
    """A package whose archive is ``data``."""
    digest = hashlib.sha256(data).hexdigest()
    kind = "pypi" if registry == "pypi" else "npm"
    return Package(kind, "@scope/pkg", "1.0", f"{registry}.archive", digest, "MIT", folder)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, bytes]], list[list[str]]]:
    """Stands in for pip and npm: puts the archives where the commands would; gives the commands."""
    commands: list[list[str]] = []

    def serve(archives: dict[str, bytes]) -> list[list[str]]:
        def run(command: list[str], *, cwd: Path, **_: object) -> object:
            commands.append(command)
            for name, data in archives.items():
                (cwd / name).write_bytes(data)
            return type("Done", (), {"returncode": 0 if archives else 1, "stderr": "a\nno such package\n"})

        monkeypatch.setattr(heldout.subprocess, "run", run)
        monkeypatch.setattr(heldout.shutil, "which", lambda _: "/usr/bin/npm")
        return commands

    return serve


def test_the_list() -> None:
    """The committed list names packages of both registries under permissive licences, each with its hash."""
    packages = read_packages()
    assert len({one.slug for one in packages}) == len(packages) >= 30
    assert {one.registry for one in packages} == {"pypi", "npm"}
    assert all(len(one.sha256) == 64 for one in packages)
    assert {one.license.removesuffix("-0") for one in packages} <= PERMISSIVE


def test_fetch(tmp_path: Path, served: Callable[[dict[str, bytes]], list[list[str]]]) -> None:
    """Only source files below the named folder are kept; what is there is not fetched again."""
    python, script = package("pypi", WHEEL), package("npm", TARBALL, "src")
    commands = served({"pypi.archive": WHEEL, "npm.archive": TARBALL})
    seen: list[Package] = []
    cache = tmp_path / "cache"
    assert fetch([python, script], cache, seen.append) == 2
    files = sorted(path.relative_to(cache).as_posix() for path in cache.rglob("*") if path.is_file())
    assert files == ["npm-scope-pkg-1.0/src/a.ts", "pypi-scope-pkg-1.0/pkg/a.py"]
    assert corpus_folder([python, script], cache) == cache
    assert fetch([python, script], cache, seen.append) == 0
    assert seen == [python, script]
    assert [command[-1] for command in commands] == ["@scope/pkg==1.0", "@scope/pkg@1.0"]


def test_another_file_is_refused(
    tmp_path: Path, served: Callable[[dict[str, bytes]], list[list[str]]]
) -> None:
    """An archive whose hash differs is not used."""
    served({"pypi.archive": WHEEL})
    pinned = attrs.evolve(package("pypi", WHEEL), sha256="0" * 64)
    with pytest.raises(ConfigError, match="not the file that was pinned"):
        fetch([pinned], tmp_path / "cache", lambda _: None)
    assert not (tmp_path / "cache").exists()


def test_registry_says_no(tmp_path: Path, served: Callable[[dict[str, bytes]], list[list[str]]]) -> None:
    """The client's last line is the reason."""
    served({})
    with pytest.raises(ConfigError, match="cannot be fetched: no such package"):
        fetch([package("pypi", WHEEL)], tmp_path, lambda _: None)


def test_npm_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without npm one line says what to install."""
    monkeypatch.setattr(heldout.shutil, "which", lambda _: None)
    with pytest.raises(ConfigError, match=r"install Node\.js"):
        fetch([package("npm", TARBALL)], tmp_path, lambda _: None)


def test_not_fetched_yet(tmp_path: Path) -> None:
    """What is missing is named, with the command that fetches it."""
    with pytest.raises(ConfigError, match="codeserve bench heldout"):
        corpus_folder([package("pypi", WHEEL)], tmp_path)


def test_a_list_that_is_none(tmp_path: Path) -> None:
    """A broken list is one line of error."""
    path = tmp_path / "list.toml"
    path.write_text('[[package]]\nname = "x"\n')
    with pytest.raises(ConfigError, match="no list of packages"):
        read_packages(path)


def test_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache lies where the user's others do."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "codeserve" / "heldout"
