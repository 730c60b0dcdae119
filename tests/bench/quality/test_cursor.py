"""Kinds of cursor positions."""

from __future__ import annotations

import pytest

from codeserve.bench.quality.cursor import Positions

PYTHON = """\
import os  # the système
x = f"a{os.name}b"
    # next
def f():
    '''Text
    more.'''
    return call(x)
"""
SCRIPT = "// note\nconst a = `x${b}y`; /* in\nside */ let c = 'd';\n"


@pytest.mark.parametrize(
    ("text", "language", "before", "hole", "kind"),
    [
        (PYTHON, "python", "import ", "os  # the système", "line end"),
        (PYTHON, "python", "import os  # the ", "système", "comment"),
        (PYTHON, "python", "import os  # the système", "", "comment"),
        (PYTHON, "python", "import os  # the système\n", 'x = f"a{os.name}b"', "line start"),
        (PYTHON, "python", 'x = f"', "a", "string"),
        (PYTHON, "python", 'x = f"a{os', ".name", "mid-line"),
        (PYTHON, "python", "more.'''\n    ", "return call(x)", "empty line"),
        (PYTHON, "python", "'''Text\n    ", "more.", "string"),
        (PYTHON, "python", "return call(", "x", "mid-line"),
        (SCRIPT, "javascript", "// no", "te", "comment"),
        (SCRIPT, "javascript", "`x", "", "string"),
        (SCRIPT, "javascript", "`x${", "b", "mid-line"),
        (SCRIPT, "javascript", "/* in\n", "side", "comment"),
        (SCRIPT, "typescript", "let c = 'd", "", "string"),
        ("# a note\n", "unknown", "# a", " note", "line end"),
    ],
)
def test_kind(text: str, language: str, before: str, hole: str, kind: str) -> None:
    """Strings and comments by the syntax, the rest by what stands on the line."""
    offset = text.index(before) + len(before)
    assert text.startswith(hole, offset)
    assert Positions(text, language).kind(offset, offset + len(hole)) == kind
