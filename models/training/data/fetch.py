"""Fetches packages with the ordinary clients, `pip download` and `npm pack`, and checks their hashes.

Wheels are taken, never source distributions: nothing of a package is run.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from training.data.packages import DataError, Package

__all__ = ["archive_of", "fetch", "fetch_new", "file_sha256", "standard_library"]

_BATCH = 25  # packages a client run
_AT_ONCE = 3
_PLATFORMS = ("any", *(f"manylinux{tag}_x86_64" for tag in ("_2_28", "_2_27", "_2_17", "2014", "1")))
# Of the standard library: other people's packages, and what holds the machine's paths and compiler flags.
_NOT_PYTHONS = re.compile(r"(?:^|/)(?:site-packages|__pycache__|config-[^/]*)/|(?:^|/)_sysconfigdata[^/]*$")
_MISSING = re.compile(r"No matching distribution found for (\S+)")


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def archive_of(package: Package, folder: Path) -> Path:
    """Where `fetch` puts a package: by its hash, so that a file of that name is the right one."""
    return folder / f"{package.sha256}{'.tgz' if package.registry == 'npm' else '.whl'}"


def fetch(packages: Sequence[Package], folder: Path) -> None:
    """Fetch what is not there yet.

    Raises: DataError when a package is gone or is not the one that was listed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing = [package for package in packages if not archive_of(package, folder).exists()]
    for package in [package for package in missing if package.registry == "stdlib"]:
        _fetch_standard_library(package, folder)
    for registry, get in (("pypi", _pip_locked), ("npm", _npm)):
        wanted = [package for package in missing if package.registry == registry]
        batches = [wanted[i : i + _BATCH] for i in range(0, len(wanted), _BATCH)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(partial(_fetch_batch, folder=folder, get=get), batches))
    gone = [package.id for package in missing if not archive_of(package, folder).exists()]
    if gone:
        raise DataError(f"{len(gone)} packages did not come as listed: {', '.join(gone[:5])}")


def _fetch_standard_library(package: Package, folder: Path) -> None:
    path = archive_of(package, folder).with_suffix(".part")
    standard_library(path)
    if file_sha256(path) != package.sha256:
        path.unlink()
        raise DataError(
            f"the standard library of this Python, {_version()}, has another hash than the list says: "
            f"use Python {package.version} as its sources install it, or take {package.id} off the list"
        )
    shutil.move(path, archive_of(package, folder))


def _fetch_batch(batch: list[Package], folder: Path, get: Callable[[list[Package], Path], str]) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        place = Path(temporary)
        complaint = get(batch, place)
        by_hash = {package.sha256: package for package in batch}
        for path in place.iterdir():
            _place(path, by_hash, folder)
        if complaint:
            raise DataError(f"fetching {batch[0].id} and {len(batch) - 1} others failed: {complaint}")


def _place(path: Path, by_hash: dict[str, Package], folder: Path) -> None:
    package = by_hash.get(file_sha256(path))
    if package is None:
        raise DataError(f"{path.name} has another hash than the list says: update the list, or find out why")
    shutil.move(path, archive_of(package, folder))


def _pip(requirements: str, place: Path, *options: str) -> str:
    """Run `pip download`; what it complains of, or "" when all is well."""
    listing = place.parent / f"{place.name}.txt"
    listing.write_text(requirements, encoding="utf-8")
    platforms = [word for name in _PLATFORMS for word in ("--platform", name)]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary=:all:",
        "--no-cache-dir",
    ]
    command += ["--disable-pip-version-check", "--python-version", "3.12", "--implementation", "cp"]
    done = subprocess.run(
        [*command, *platforms, *options, "-d", str(place), "-r", str(listing)],
        capture_output=True,
        text=True,
        check=False,
    )
    listing.unlink()
    return done.stderr.strip() or "pip failed" if done.returncode else ""


def _pip_locked(batch: list[Package], place: Path) -> str:
    lines = [f"{package.name}=={package.version} --hash=sha256:{package.sha256}" for package in batch]
    return _last_line(_pip("\n".join(lines), place, "--require-hashes"))


def _npm(batch: list[Package], place: Path) -> str:
    return _npm_pack([f"{package.name}@{package.version}" for package in batch], place)


def _npm_pack(names: list[str], place: Path) -> str:
    done = subprocess.run(
        ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(place), *names],
        capture_output=True,
        text=True,
        check=False,
    )
    return _last_line(done.stderr) or "npm failed" if done.returncode else ""


def _last_line(text: str) -> str:
    return text.splitlines()[-1] if text else ""


def fetch_new(registry: str, names: Sequence[str], folder: Path) -> list[Path]:
    """Fetch packages that have no hash yet (``name==version`` or ``name@version``); those that cannot be
    had are left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    batches = [list(names[i : i + _BATCH]) for i in range(0, len(names), _BATCH)]
    get = _new_wheels if registry == "pypi" else _new_tarballs
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [path for paths in pool.map(partial(get, folder=folder), batches) for path in paths]


def _new_wheels(names: list[str], folder: Path) -> list[Path]:
    left = list(names)
    place = Path(tempfile.mkdtemp(dir=folder))
    while left:
        complaint = _pip("\n".join(left), place)
        gone = set(_MISSING.findall(complaint))
        if not gone:
            break
        left = [name for name in left if name not in gone]
    return sorted(place.iterdir())


def _new_tarballs(names: list[str], folder: Path) -> list[Path]:
    place = Path(tempfile.mkdtemp(dir=folder))
    if _npm_pack(names, place):  # one of them cannot be had: ask for each alone
        for name in names:
            _npm_pack([name], place)
    return sorted(place.iterdir())


def standard_library(path: Path) -> None:
    """Write the running interpreter's standard library as an archive.

    It is the same wherever that version was installed from its sources, with all its parts; a distributor
    who leaves out the tests or changes files gives another one.
    """
    root = Path(sysconfig.get_path("stdlib"))
    names = (file.relative_to(root).as_posix() for file in root.rglob("*.py"))
    files = sorted(root / name for name in names if not _NOT_PYTHONS.search(name))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for file in files:
            name = f"python/{file.relative_to(root).as_posix()}"
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), file.read_bytes())
        for name, content in _interpreter_metadata(root).items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)


def _interpreter_metadata(root: Path) -> dict[str, str]:
    licence = (root / "LICENSE.txt").read_text(encoding="utf-8") if (root / "LICENSE.txt").exists() else ""
    head = f"Name: python\nVersion: {_version()}\nLicense-Expression: PSF-2.0\n\n"
    return {"python.dist-info/METADATA": head, "python.dist-info/LICENSE": licence}


def _version() -> str:
    return ".".join(map(str, sys.version_info[:3]))
