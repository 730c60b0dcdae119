"""The declarations of a file and the files that it imports, by the look of its lines.

A scan and not a parser: it never stops the event loop for long (a parser in C holds the interpreter for the
whole of a file), it works on code that is being written and does not parse, and it needs no grammars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["imported_files", "outline"]

# Lines of a file that are looked at, and lines that a signature may go on for.
MAX_LINES = 4_000
MAX_SIGNATURE_LINES = 8

_PYTHON = re.compile(r"(?: {4}|\t)?(?:async +def|def|class) +\w|[A-Z_][A-Z0-9_]* *[:=]|@(?:dataclass|attrs)")
_SCRIPT = re.compile(
    r"(?:export |declare )*(?:default )?(?:async )?(?:abstract )?"
    r"(?:function\b|class |interface |type \w|enum |const \w|namespace )"
)
_RUST = re.compile(
    r" {0,4}(?:pub(?:\([^)]*\))? )?(?:async |unsafe |const )*(?:fn|struct|enum|trait|impl|type|mod|static) ?"
)
_GO = re.compile(r"(?:func|type|var|const) ")
_C = re.compile(
    r"(?:#define \w|typedef |(?:struct|enum|union|class|template|namespace)\b|[A-Za-z_][\w:<>,*& ]*\()"
)
_JVM = re.compile(
    r"\s{0,4}(?:(?:public|protected|internal|static|final|abstract|sealed|data|open|override|suspend) )*"
    r"(?:class|interface|enum|record|object|fun|public|protected|namespace) ?"
)
_RUBY = re.compile(r" {0,4}(?:class|module|def) ")

_DECLARATIONS = {
    "python": _PYTHON,
    **dict.fromkeys(("javascript", "typescript", "javascriptreact", "typescriptreact"), _SCRIPT),
    "rust": _RUST,
    "go": _GO,
    **dict.fromkeys(("c", "cpp", "objective-c", "cuda-cpp"), _C),
    **dict.fromkeys(("java", "kotlin", "csharp", "scala"), _JVM),
    "ruby": _RUBY,
}


def outline(text: str, language: str, limit: int) -> str:
    """The first lines of declarations with their indentation, at most ``limit`` characters, whole lines.

    "" for a language whose declarations are not known.
    """
    pattern = _DECLARATIONS.get(language)
    if pattern is None:
        return ""
    kept: list[str] = []
    size = 0
    for line in _signatures(text.splitlines()[:MAX_LINES], pattern):
        size += len(line) + 1
        if size > limit:
            break
        kept.append(line)
    return "\n".join(kept)


def _signatures(lines: list[str], pattern: re.Pattern[str]) -> Iterator[str]:
    """The lines on which declarations begin, and those that their open brackets go on to."""
    goes_on = 0  # lines that a signature may still have
    depth = 0
    for line in lines:
        if goes_on:
            goes_on -= 1
        elif pattern.match(line):
            depth, goes_on = 0, MAX_SIGNATURE_LINES - 1
        else:
            continue
        depth += sum(map(line.count, "([")) - sum(map(line.count, ")]"))
        if depth <= 0:
            goes_on = 0
        yield line.rstrip()


_PYTHON_IMPORT = re.compile(r"^\s*(?:from\s+(\.*[\w.]*)\s+import\s+(.*)|import\s+([\w.]+))", re.M)
_SCRIPT_IMPORT = re.compile(
    r"""(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)["'](\.{1,2}/[^"'\n]+)["']"""
)
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"\n]+)"', re.M)
_RUST_MODULE = re.compile(r"^\s*(?:pub\s+)?mod\s+(\w+)\s*;", re.M)

_SCRIPT_ENDINGS = ("", ".ts", ".tsx", ".js", ".jsx", ".mjs", "/index.ts", "/index.js")


def imported_files(text: str, language: str, path: Path, folders: Iterable[Path]) -> Iterator[Path]:
    """Files that the imports of a document may mean, most likely first; they need not exist."""
    if language == "python":
        yield from _python(text, path, folders)
    elif language in ("javascript", "typescript", "javascriptreact", "typescriptreact"):
        for match in _SCRIPT_IMPORT.finditer(text):
            for ending in _SCRIPT_ENDINGS:
                yield path.parent / (match[1] + ending)
    elif language in ("c", "cpp", "objective-c", "cuda-cpp"):
        for match in _INCLUDE.finditer(text):
            for base in (path.parent, *folders, *(folder / "include" for folder in folders)):
                yield base / match[1]
    elif language == "rust":
        for match in _RUST_MODULE.finditer(text):
            yield path.parent / f"{match[1]}.rs"
            yield path.parent / match[1] / "mod.rs"


def _python(text: str, path: Path, folders: Iterable[Path]) -> Iterator[Path]:
    bases = [path.parent, *(base for folder in folders for base in (folder, folder / "src", folder / "lib"))]
    for match in _PYTHON_IMPORT.finditer(text):
        module = match[1] or match[3] or ""
        name = module.lstrip(".")
        dots = len(module) - len(name)
        starts = list(path.parents[dots - 1 : dots]) if dots else bases
        for start in starts:
            target = start.joinpath(*name.split(".")) if name else start
            yield target.with_suffix(".py") if name else start / "__init__.py"
            yield target / "__init__.py"
            # `from package import module`
            for part in re.findall(r"\w+", (match[2] or "").split("#")[0]):
                yield target / f"{part}.py"
