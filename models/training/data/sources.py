"""Reads the archives of packages: their licence and the source files in them that may be used."""

from __future__ import annotations

import json
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.parser import Parser
from pathlib import Path, PurePosixPath

from training.data import licences
from training.data.packages import DataError

__all__ = ["LANGUAGES", "Contents", "read_archive"]

LANGUAGES = {
    ".py": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".tsx": "typescript", ".mts": "typescript",
}  # fmt: skip

_MAX_BYTES = 400_000  # of one file; longer ones are data or bundles
_MAX_LICENCE_BYTES = 200_000

# Copies of other packages, which have licences and names of their own.
_VENDORED = frozenset(
    {
        *("vendor", "_vendor", "vendored", "vendors", "third_party", "thirdparty", "third-party", "3rdparty"),
        *("extern", "externals", "external", "node_modules", "bower_components", "_vendored_packages"),
        *("site-packages", "pip_vendored"),
    }
)
# What a build wrote: bundled, transpiled or copied from elsewhere in the package.
_BUILT = frozenset(
    {
        *("dist", "build", "umd", "cjs", "bundles", "bundle", "min", "_esm2015", "esm2015", "fesm2015"),
        *("fesm2022", "locales", "locale", "i18n"),
    }
)
_NOT_SOURCE = (
    ".min.js",
    ".d.ts",
    ".bundle.js",
    "_pb2.py",
    "_pb2_grpc.py",
    ".umd.js",
    ".prod.js",
    "-bundle.js",
)

# What the readers of archives raise; the last for encryption and forms of compression that they do not know.
_DAMAGED = (
    *(OSError, EOFError, ValueError, struct.error, zlib.error, lzma.LZMAError),
    *(tarfile.TarError, zipfile.BadZipFile, RuntimeError),
)


@dataclass
class Contents:
    """What is in one archive. ``licence`` is "" when the package must not be used."""

    name: str
    version: str
    licence: str = ""
    files: list[tuple[str, str]] = field(default_factory=list)  # (path, text), by path


def read_archive(path: Path, *, any_licence: bool = False) -> Contents:
    """A wheel or npm tarball. Files of foreign licences, vendored and built ones are not among the files.

    With ``any_licence`` the files of a package that must not be trained on are read too, to compare with.
    Raises: DataError when it is cut short or damaged.
    """
    try:
        members = dict(_members(path))
    except _DAMAGED as exc:
        raise DataError(f"{path.name} cannot be read: {exc}") from None
    licence_files = {
        name: data.decode("utf-8", "replace")
        for name, data in members.items()
        if licences.LICENCE_FILE.search(name) and PurePosixPath(name).suffix not in LANGUAGES
    }
    name, version, declared, top = (
        _npm_metadata(members) if path.suffix == ".tgz" else _wheel_metadata(members)
    )
    own = [text for file, text in sorted(licence_files.items()) if licences.folder_of(file) in top]
    contents = Contents(name, version, licences.package_licence(declared, own))
    if not contents.licence and not any_licence:
        return contents
    foreign = licences.foreign_folders(licence_files, top)
    for file, data in sorted(members.items()):
        if _is_source(file) and not any(map(foreign.__contains__, map(str, PurePosixPath(file).parents))):
            try:
                text = data.decode("utf-8-sig")
            except UnicodeDecodeError:
                continue
            contents.files.append((file, text.replace("\r\n", "\n").replace("\r", "\n")))
    return contents


def _is_source(file: str) -> bool:
    path = PurePosixPath(file)
    if path.suffix not in LANGUAGES or path.name.endswith(_NOT_SOURCE):
        return False
    folders = {part.lower() for part in path.parts[:-1]}
    if folders & _VENDORED:
        return False
    return path.suffix == ".py" or not folders & _BUILT


def _wanted(name: str, size: int) -> bool:
    path = PurePosixPath(name)
    if path.name in ("METADATA", "package.json") or licences.LICENCE_FILE.search(name):
        return size <= _MAX_LICENCE_BYTES
    return path.suffix in LANGUAGES and size <= _MAX_BYTES


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of an archive that matter, paths as in the package."""
    if path.suffix == ".tgz":
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                name = member.name.partition("/")[2]
                if member.isfile() and _wanted(name, member.size):
                    file = archive.extractfile(member)
                    if file is not None:
                        yield name, file.read()
        return
    with zipfile.ZipFile(path) as wheel:
        for info in wheel.infolist():
            if not info.is_dir() and _wanted(info.filename, info.file_size):
                yield info.filename, wheel.read(info)


_Metadata = tuple[str, str, str, frozenset[str]]


def _wheel_metadata(members: dict[str, bytes]) -> _Metadata:
    """Name, version, declared licence, and the folders whose licence files are the package's own."""
    metadata = next((name for name in sorted(members) if name.endswith(".dist-info/METADATA")), None)
    if metadata is None:
        return "", "", "LicenseRef-other", frozenset()
    message = Parser().parsestr(members[metadata].decode("utf-8", "replace"), headersonly=True)
    info = metadata.rpartition("/")[0]
    declared = licences.expression_of(
        {
            "license-expression": message["License-Expression"] or "",
            "license": message["License"] or "",
            "classifier": message.get_all("Classifier") or [],
        }
    )
    return (
        message["Name"] or "",
        message["Version"] or "",
        declared,
        frozenset({info, "."}),
    )


def _npm_metadata(members: dict[str, bytes]) -> _Metadata:
    try:
        data = json.loads(members["package.json"])
        declared = data.get("license") or data.get("licenses") or ""
    except (KeyError, ValueError, AttributeError):
        return "", "", "LicenseRef-other", frozenset()
    if isinstance(declared, list):  # an old form: any of them
        declared = " OR ".join(
            str(each.get("type", "")) if isinstance(each, dict) else str(each) for each in declared
        )
    if isinstance(declared, dict):
        declared = declared.get("type", "")
    return (
        str(data.get("name") or ""),
        str(data.get("version") or ""),
        licences.expression_of({"license": str(declared)}),
        frozenset({"."}),
    )
