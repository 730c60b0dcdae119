"""Pieces of text that documents and models have, the odd ones often, to be put together at random."""

from __future__ import annotations

__all__ = ["LANGUAGES", "PIECES", "SENTINELS"]

LANGUAGES = (
    *("python", "javascript", "typescriptreact", "go", "rust", "c", "java", "html", "yaml", "makefile"),
    *("shellscript", "json", "ruby", "markdown", "sql", ""),
)
SENTINELS = ("<EOT>", "<|endoftext|>", "<fim_middle>", "<|fim_suffix|>", "[/INST]")
PIECES = (
    *("\n", "\n", "\n", "\n\n", "    ", "        ", "\t", " ", " ", "  "),
    *("(", ")", "[", "]", "{", "}", "<", ">", '"', "'", "`", '"""', "\\", "));", "})", "</p>", "<p>", "${"),
    *("def f(a):", "if x:", "else:", "return x", "x = 1", "value", "import os", "f(a, b)", "=>"),
    *("# c", "// c", "/*", "*/"),
    *("é", "日本", "🦆", "👩\u200d👧", "e\u0301", "שלום", "𝑥", "\u200f", "\u202e", "\ufeff", "\u2028"),
    *("\x0c", "\x00", "\x1b"),
    *SENTINELS,
    *("a" * 50, "0" * 40, "ab " * 8, "None, " * 7, "-" * 20),
)
