"""The declarations of a file by the look of its lines: for a language without a grammar, or a file that takes
too long to parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["outline"]

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
