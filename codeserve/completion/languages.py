"""What the completion rules need to know of languages, by LSP language id."""

from __future__ import annotations

from pathlib import PurePosixPath

__all__ = ["comment_marks", "indents_blocks", "language_of"]

# fmt: off
_BY_EXTENSION = {
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "css": "css", "ex": "elixir",
    "exs": "elixir", "go": "go", "hs": "haskell", "htm": "html", "html": "html", "java": "java",
    "jl": "julia", "js": "javascript", "json": "json", "jsx": "javascriptreact", "kt": "kotlin", "lua": "lua",
    "md": "markdown", "nim": "nim", "php": "php", "pl": "perl", "py": "python", "pyi": "python", "r": "r",
    "rb": "ruby", "rs": "rust", "scala": "scala", "sh": "shellscript", "sql": "sql", "swift": "swift",
    "toml": "toml", "ts": "typescript", "tsx": "typescriptreact", "vue": "vue", "xml": "xml", "yaml": "yaml",
    "yml": "yaml",
}

_COLON_BLOCKS = frozenset({"coffeescript", "cython", "gdscript", "mojo", "nim", "python", "starlark", "yaml"})

_COMMENTS = {
    ("# ", ""): (
        "coffeescript", "cython", "dockerfile", "elixir", "gdscript", "julia", "make", "makefile", "mojo",
        "nim", "perl", "powershell", "python", "r", "ruby", "shellscript", "starlark", "toml", "yaml",
    ),
    ("-- ", ""): ("ada", "elm", "haskell", "lua", "sql", "vhdl"),
    ("% ", ""): ("erlang", "latex", "matlab", "prolog", "tex"),
    ("; ", ""): ("asm", "clojure", "ini", "lisp", "scheme"),
    ("<!-- ", " -->"): ("html", "markdown", "svelte", "vue", "xml"),
    ("/* ", " */"): ("css",),
}
# fmt: on
_MARKS = {language: marks for marks, languages in _COMMENTS.items() for language in languages}


def language_of(language: str, path: str) -> str:
    """The LSP language id, guessed from the path's extension where the client named none; "" when unknown."""
    return language.lower() or _BY_EXTENSION.get(PurePosixPath(path).suffix[1:].lower(), "")


def indents_blocks(language: str) -> bool:
    """Whether a colon at the end of a line opens a block that indentation alone delimits."""
    return language in _COLON_BLOCKS


def comment_marks(language: str) -> tuple[str, str]:
    """What a comment line begins and ends with."""
    return _MARKS.get(language, ("// ", ""))
