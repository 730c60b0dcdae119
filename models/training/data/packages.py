"""The list of packages that the training data is from: `packages.toml`; `heldout.toml` has the same form.

One entry a package: where it is from (`pypi`, `npm` or `stdlib`), name, version, the SHA-256 of the file
that is fetched, and the licence that was found in it (an SPDX expression). The list is the model's data
card: it is committed, the sources are not.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DataError", "Package", "dump_packages", "load_packages"]

REGISTRIES = ("pypi", "npm", "stdlib")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# As the registries have them: nothing that a list would have to escape, or a client would take for an option.
_NAME = re.compile(r"(?:@[A-Za-z0-9_.~-]+/)?[A-Za-z0-9_.~][A-Za-z0-9_.~-]*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+!-]*")


class DataError(Exception):
    """One line that says what is wrong with the data or the list of packages, and what to do."""


@dataclass(frozen=True, order=True)
class Package:
    """One entry. ``licence`` is empty in a held-out list, whose sources are only compared with."""

    registry: str
    name: str
    version: str
    sha256: str
    licence: str = ""

    @property
    def id(self) -> str:
        """Registry and name, in the form that the registry takes for equal (PEP 503 for Python)."""
        name = re.sub(r"[-_.]+", "-", self.name).lower() if self.registry == "pypi" else self.name
        return f"{self.registry}:{name}"

    @property
    def well_named(self) -> bool:
        """Whether name and version are of the registries' form, and can stand in a list."""
        return bool(_NAME.fullmatch(self.name) and _VERSION.fullmatch(self.version))


def load_packages(path: Path) -> list[Package]:
    """The packages of a list, in its order. Raises: DataError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"there is no list of packages at {path}") from None
    except ValueError as exc:
        raise DataError(f"{path} is not TOML: {exc}") from None
    entries = data.get("package", [])
    packages = [_package(entry, path) for entry in entries]
    doubled = [name for name, count in Counter(package.id for package in packages).items() if count > 1]
    if doubled:
        raise DataError(f"{path} names {', '.join(sorted(doubled))} twice: delete one of the entries")
    return packages


def _package(entry: object, path: Path) -> Package:
    if not isinstance(entry, dict):
        raise DataError(f"{path}: each [[package]] must be a table")
    try:
        package = Package(
            registry=entry.get("registry", "pypi"),
            name=entry["name"],
            version=entry["version"],
            sha256=entry["sha256"],
            licence=entry.get("license", ""),
        )
    except KeyError as exc:
        raise DataError(f"{path}: the entry {entry.get('name', '?')} lacks {exc.args[0]!r}") from None
    if package.registry not in REGISTRIES:
        raise DataError(f"{path}: {package.name}: registry must be one of {', '.join(REGISTRIES)}")
    if not _SHA256.fullmatch(package.sha256):
        raise DataError(f"{path}: {package.name}: sha256 must be 64 hexadecimal digits")
    return package


def dump_packages(path: Path, packages: Iterable[Package], comment: str) -> None:
    """Write a list, sorted, one inline table a line so that a change is one line of a diff.

    Whole or not at all: a kill leaves the old one.
    """
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines.append("package = [")
    for p in sorted(packages):
        fields = {"registry": p.registry, "name": p.name, "version": p.version, "license": p.licence}
        shown = ", ".join(f'{key} = "{value}"' for key, value in fields.items() if value)
        lines.append(f'  {{ {shown}, sha256 = "{p.sha256}" }},')
    place = path.resolve()  # a link stays one
    part = place.with_name(f".{place.name}.part")
    try:
        part.write_text("\n".join([*lines, "]", ""]), encoding="utf-8")
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)
