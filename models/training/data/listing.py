"""The `list` command: makes or extends `packages.toml` from names, keeping what may be used and is worth
it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from training.data.fetch import archive_of, file_sha256
from training.data.licences import is_permissive
from training.data.packages import DataError, Package, dump_packages, load_packages
from training.data.sources import read_archive

__all__ = ["extend_list"]

_MIN_BYTES = 6_000  # of source that may be used; less is not worth a download

_COMMENT = """\
The packages that the bundled model is trained on. Made by `python -m training list`; see README.md.
Each licence was read from the package's own metadata and licence files in the archive with this SHA-256."""


def _examine(path: Path) -> tuple[Path, Package | None, str]:
    try:
        contents = read_archive(path)
    except DataError:
        return path, None, "cannot be read"
    if not is_permissive(contents.licence):
        return path, None, "licence"
    if sum(len(text) for _, text in contents.files) < _MIN_BYTES:
        return path, None, "too little source"
    registry = "npm" if path.suffix == ".tgz" else "stdlib" if contents.name == "python" else "pypi"
    package = Package(registry, contents.name, contents.version, file_sha256(path), contents.licence)
    if not package.well_named:
        return path, None, "name or version is not of the registry's form"
    return path, package, ""


def extend_list(
    listing: Path, held_out: Path, archives: Iterable[Path], cache: Path, say: Callable[[str], None]
) -> list[Package]:
    """Add the archives that qualify to the list (of a name the last stays) and move them to the cache; say
    of each other one why it does not.

    Raises: DataError when one of the lists cannot be used.
    """
    banned = {package.id for package in load_packages(held_out)}
    found = {package.id: package for package in load_packages(listing)} if listing.exists() else {}
    cache.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(2) as pool:
        for path, package, reason in pool.map(_examine, archives, chunksize=8):
            if package is None or package.id in banned:
                say(f"{path.name}: {reason or 'held out'}")
                continue
            shutil.move(path, archive_of(package, cache))
            found[package.id] = package
    packages = sorted(package for package in found.values() if package.id not in banned)
    dump_packages(listing, packages, _COMMENT)
    return packages
