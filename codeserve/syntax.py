"""tree-sitter parsers by LSP language id, loaded on first use.

The grammars are separate wheels that carry their compiled parser: nothing is fetched at run time, and one
that is not installed only means that this language is read without syntax.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from tree_sitter import Language, Parser

__all__ = ["LANGUAGES", "language", "parser"]

# LSP language id -> the grammar's module and the function in it that gives the language.
_GRAMMARS = {
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "javascriptreact": ("tree_sitter_javascript", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "shellscript": ("tree_sitter_bash", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "typescriptreact": ("tree_sitter_typescript", "language_tsx"),
}
LANGUAGES = frozenset(_GRAMMARS)


@cache
def language(language_id: str) -> Language | None:
    """The grammar of a language; None when there is none for it or its wheel is not installed."""
    if language_id not in _GRAMMARS:
        return None
    module, function = _GRAMMARS[language_id]
    try:
        return Language(getattr(import_module(module), function)())
    except ImportError:
        return None


def parser(language_id: str) -> Parser | None:
    """A parser of its own for each caller (tree-sitter's parsers hold state); None as for `language`."""
    grammar = language(language_id)
    return None if grammar is None else Parser(grammar)
