"""Where the files are that an import means. Looks at names on disk, into no file but a build's manifest."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from codeserve.client import open_regular
from codeserve_lsp.imports import Import

__all__ = ["beside", "language_of", "places"]

# Names in one folder that are looked at, and files that a whole package may bring in.
MAX_ENTRIES = 2_000
MAX_PACKAGE = 8
MANIFEST_BYTES = 100_000

# One import means the first that exists of each of these.
Places = Iterator[Sequence[Path]]
Resolver = Callable[[Import, Path, Sequence[Path]], Places]

_ENDINGS = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascriptreact",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "typescriptreact",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hpp": "cpp",
    ".cs": "csharp",
    ".php": "php",
    ".rb": "ruby",
    ".sh": "shellscript",
}


def language_of(path: Path, otherwise: str) -> str:
    """The language of a file by its ending, else ``otherwise``.

    The ending goes before what an editor says: Neovim and Emacs have names of their own (``sh``, ``js``).
    """
    return _ENDINGS.get(path.suffix.lower(), otherwise)


def places(found: Import, language: str, path: Path, folders: Sequence[Path]) -> Places:
    """Where an import of the document ``path`` may lead, within and beside the workspace's folders."""
    resolver = _RESOLVERS.get(language)
    if resolver is not None and found.target and "\0" not in found.target:
        yield from resolver(found, path, folders)


def beside(language: str, path: Path, text: str) -> Iterator[Path]:
    """The files of the same package, which need no import: in Java those whose class the text names."""
    if language == "java":
        words = set(re.findall(r"\w+", text))
        yield from (file for file in _files(path.parent, ".java") if file != path and file.stem in words)
    elif language == "go":
        own = (file for file in _files(path.parent, ".go") if file != path)
        yield from itertools.islice((file for file in own if not file.stem.endswith("_test")), MAX_PACKAGE)


def _files(folder: Path, ending: str) -> list[Path]:
    """The files of a folder, by name."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in itertools.islice(entries, MAX_ENTRIES)]
    except OSError:
        return []
    return [folder / name for name in sorted(names) if name.endswith(ending)]


def _above(path: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """The folders above a file, up to the workspace's own."""
    tops = [folder for folder in folders if path.is_relative_to(folder)]
    for folder in path.parents:
        yield folder
        if folder in tops or not tops:
            return


def _manifest(path: Path, folders: Sequence[Path], name: str) -> tuple[Path, str] | None:
    """The folder of the nearest file of that name, and its text."""
    for folder in _above(path, folders):
        try:
            with open_regular(folder / name) as file:
                return folder, file.read(MANIFEST_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
    return None


def _python(found: Import, path: Path, folders: Sequence[Path]) -> Places:
    name = found.target.lstrip(".")
    dots = len(found.target) - len(name)
    if dots:
        bases = list(path.parents[dots - 1 : dots])
    else:
        top = path.parent  # of the package that the document is in
        for folder in _above(path, folders):
            top = folder
            if not (folder / "__init__.py").is_file():
                break
        roots = (base for folder in folders for base in (folder, folder / "src", folder / "lib"))
        bases = list(dict.fromkeys((top, path.parent, *roots)))
    targets = [base.joinpath(*name.split(".")) if name else base for base in bases]
    yield [file for target in targets for file in _python_module(target, bool(name))]
    for part in found.names:
        if part.isidentifier():
            yield [file for target in targets for file in _python_module(target / part, True)]


def _python_module(target: Path, named: bool) -> Iterator[Path]:
    if named:
        yield target.parent / f"{target.name}.py"
    yield target / "__init__.py"
    if named:
        yield target.parent / f"{target.name}.pyi"


_SCRIPT_ENDINGS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".d.ts")


def _script(found: Import, path: Path, folders: Sequence[Path]) -> Places:
    target = found.target
    if target.startswith("."):
        bases: Iterable[Path] = [path.parent / target]
    elif target.startswith(("@/", "~/")):  # what bundlers and their templates make of a project's own root
        own = list(_above(path, folders))[-1:]
        bases = [base / target[2:] for folder in own for base in (folder / "src", folder)]
    else:
        return
    for base in bases:
        stem = base.with_suffix("") if base.suffix in (".js", ".jsx", ".mjs", ".cjs") else base
        files = [base.parent / (base.name + ending) for ending in _SCRIPT_ENDINGS]
        # TypeScript writes the name that the compiled file will have
        files += [stem.parent / (stem.name + ending) for ending in (".ts", ".tsx", ".mts", ".cts")]
        yield [base, *files, *(base / f"index{ending}" for ending in _SCRIPT_ENDINGS)]


def _go(found: Import, path: Path, folders: Sequence[Path]) -> Places:
    manifest = _manifest(path, folders, "go.mod")
    if manifest is None:
        return
    folder, text = manifest
    match = re.search(r"^[ \t]*module[ \t]+\"?([^\s\"]+)", text, re.M)
    if match is None or not (found.target + "/").startswith(match[1] + "/"):
        return
    package = folder / found.target[len(match[1]) :].lstrip("/")
    files = (file for file in _files(package, ".go") if not file.stem.endswith("_test"))
    yield from ([file] for file in itertools.islice(files, MAX_PACKAGE))


def _rust(found: Import, path: Path, folders: Sequence[Path]) -> Places:
    first, *rest = found.target.split("::")
    # where the submodules of this file are
    own = path.parent if path.stem in ("mod", "lib", "main") else path.parent / path.stem
    if first == "self":
        base: Path | None = own
    elif first == "super":
        base = own.parent
        while rest[:1] == ["super"]:
            base, rest = base.parent, rest[1:]
    else:
        base = _crate(first, path, folders)
    if base is None:
        return
    # the last names may be of something in the module; `mod a;` means a module
    alternatives: list[Path] = []
    for count in range(len(rest), 0, -1):
        module = base.joinpath(*rest[:count])
        alternatives += [module.parent / f"{module.name}.rs", module / "mod.rs"]
    yield [*alternatives, base / "lib.rs", base / "mod.rs", base.parent / f"{base.name}.rs", base / "main.rs"]


def _crate(name: str, path: Path, folders: Sequence[Path]) -> Path | None:
    """The source folder of this crate or of one beside it in the workspace."""
    manifest = _manifest(path, folders, "Cargo.toml")
    if manifest is None:
        return path.parent if name == "crate" else None
    folder, text = manifest
    match = re.search(r"^[ \t]*name[ \t]*=[ \t]*\"([^\"]+)\"", text, re.M)
    if name == "crate" or (match is not None and match[1].replace("-", "_") == name):
        return folder / "src"
    for sibling in (folder.parent / name, folder.parent / name.replace("_", "-")):
        if (sibling / "Cargo.toml").is_file():
            return sibling / "src"
    return None


def _java(found: Import, path: Path, folders: Sequence[Path]) -> Places:
    *package, last = found.target.split(".")
    inside = Path(*package) if package else Path()
    for parent in path.parents:  # the document's own source root holds the packages
        if parent.name in ("java", "src", "main", "test") or parent in folders:
            roots = [parent, parent.parent.parent / "main" / "java"]
            break
    else:
        roots = [path.parent]
    roots += [
        base for folder in folders for base in (folder, folder / "src" / "main" / "java", folder / "src")
    ]
    if last != "*":
        # an inner class is in its outer one's file
        own = [base / inside / f"{last}.java" for base in roots]
        yield own + [base / f"{inside}.java" for base in roots if package]
        return
    for root in roots:
        files = _files(root / inside, ".java")
        if files:
            yield from ([file] for file in files[:MAX_PACKAGE])
            return


def _c(found: Import, path: Path, folders: Sequence[Path]) -> Places:
    bases = (path.parent, *folders, *(folder / name for folder in folders for name in ("include", "src")))
    yield [base / found.target for base in bases]


def _ruby(found: Import, path: Path, folders: Sequence[Path]) -> Places:
    target = path.parent / found.target
    yield [target, target.parent / f"{target.name}.rb"]


_RESOLVERS: dict[str, Resolver] = {
    "python": _python,
    **dict.fromkeys(("javascript", "javascriptreact", "typescript", "typescriptreact"), _script),
    "go": _go,
    "rust": _rust,
    "java": _java,
    "c": _c,
    "cpp": _c,
    "ruby": _ruby,
}
