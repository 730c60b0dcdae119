"""What the completion rules need to know of languages, by LSP language id."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

__all__ = ["MAKE", "comment_marks", "indents_blocks", "is_prose", "language_of", "opens_by_word", "opens_tag"]

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

MAKE = frozenset({"make", "makefile"})  # ids that editors have for it
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

# fmt: off
_PROSE = frozenset({
    "", "asciidoc", "git-commit", "gitcommit", "latex", "markdown", "mdx", "plaintext", "quarto",
    "restructuredtext", "rmd", "rst", "tex", "text",
})
# fmt: on


def language_of(language: str, path: str) -> str:
    """The LSP language id, guessed from the path's extension where the client named none; "" when unknown."""
    return language.lower() or _BY_EXTENSION.get(PurePosixPath(path).suffix[1:].lower(), "")


def is_prose(language: str) -> bool:
    """Whether it is text for people, as unknown languages may be: blank lines and fences are part of it."""
    return language in _PROSE


def indents_blocks(language: str) -> bool:
    """Whether a colon at the end of a line opens a block that indentation alone delimits."""
    return language in _COLON_BLOCKS


# Languages whose blocks begin with a word, and lines that do.
_WORDY = frozenset({"elixir", "julia", "lua", "ruby", "shellscript"})
_WORD_OPENERS = re.compile(
    r"\s*(?:def|class|module|if|unless|while|until|for|case|begin|(?:local\s+)?function|elsif|elseif|elif|else)\b"
    r"|.*\b(?:do|then|else|begin)\s*(?:\|[^|]*\|)?$"
)
_ONE_LINE = re.compile(r".*(?:\bend|\bfi|\bdone|\besac)\s*$")

_MARKUP = frozenset({"handlebars", "html", "javascriptreact", "svelte", "typescriptreact", "vue", "xml"})
_TAG = re.compile(r"<([A-Za-z][\w.:-]*)(?:[^<>]|=>)*(?<![/=])>\s*$")
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)


def opens_by_word(line: str, language: str) -> bool:
    """Whether ``line`` opens a block that a word like ``end`` closes."""
    opens = language in _WORDY and _WORD_OPENERS.match(line) is not None
    return opens and _ONE_LINE.match(line) is None


def opens_tag(line: str, language: str) -> str:
    """The name of the element that ``line`` ends with the opening tag of, "" when it does not."""
    tag = _TAG.search(line) if language in _MARKUP else None
    return "" if tag is None or tag[1].lower() in _VOID else tag[1]


def comment_marks(language: str) -> tuple[str, str]:
    """What a comment line begins and ends with."""
    return _MARKS.get(language, ("// ", ""))
