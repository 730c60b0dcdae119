from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve.completion.indent import Indenter

FOUR = "def a():\n    return 1\n\n"
TWO = "function a() {\n  return 1;\n}\n"
TABS = "func a() {\n\treturn 1\n}\n"


def indented(prefix: str, text: str, language: str = "python", step: int = 0) -> str:
    indenter = Indenter(prefix, "\n", language)
    size = step or max(len(text), 1)
    return "".join(indenter.feed(text[at : at + size]) for at in range(0, len(text), size)).rstrip()


BRACES = "\n    c()\n    if d {\n        e()\n    }"


@pytest.mark.parametrize("step", [0, 1, 3])
@pytest.mark.parametrize(
    ("prefix", "text", "language", "expected"),
    [
        (FOUR + "def b():", "\n     x = 1\n     return x", "python", "\n    x = 1\n    return x"),
        (FOUR + "def b():", "\n\tif x:\n\t\treturn 2", "python", "\n    if x:\n        return 2"),
        (TWO + "function b() {", BRACES, "javascript", "\n  c()\n  if d {\n    e()\n  }"),
        (TABS + "func b() {", BRACES, "go", "\n\tc()\n\tif d {\n\t\te()\n\t}"),
        (TABS + "func b() {", "\n  c()\n  if d {\n    e()\n  }", "go", "\n\tc()\n\tif d {\n\t\te()\n\t}"),
        (FOUR + "    ", " x = 1", "python", "x = 1"),
        (FOUR + "  ", "  x = 1", "python", "  x = 1"),
        ("x = ", " 1", "python", "1"),
        ("x = 1 ", " # one", "python", " # one"),
        ("x =", " 1", "python", " 1"),
        ("x =  ", " 1", "python", " 1"),
    ],
)
def test_as_the_document_has_it(prefix: str, text: str, language: str, expected: str, step: int) -> None:
    """Tabs, spaces, sizes and a space in front, in whatever portions the text comes."""
    assert indented(prefix, text, language, step) == expected


@pytest.mark.parametrize("prefix", ["def a():", FOUR + "x = f(", "if a:\n\tb\nif a:\n  b\nif a:"])
def test_unclear_habits(prefix: str) -> None:
    """Where the document shows no habit, or several, and behind a round bracket, the model's lines stay."""
    text = "\n        first,\n        second"
    assert indented(prefix, text) == text


def test_where_the_user_began_otherwise() -> None:
    """What the user has indented by hand stays, and what follows stays with it."""
    assert indented(TWO + "function b() {\n    ", "c();\n    d();", "javascript") == "c();\n    d();"


@pytest.mark.parametrize("step", [0, 1, 3])
@pytest.mark.parametrize(
    ("below", "text", "expected"),
    [
        ("      i += 1\n    return i\n", "      i = 2", "      i = 2"),
        ("          deeper\n\n      i += 1\n", "      if i:", "      if i:"),
        ("          deeper\n      i += 1\n", "          i = 2", "        i = 2"),
        ("            deeper\n", "         if i:", "        if i:"),
        ("    return i\n      i += 1\n", "      i = 2", "        i = 2"),
        ("", "      i = 2", "        i = 2"),
    ],
)
def test_a_block_that_goes_on_below(below: str, text: str, expected: str, step: int) -> None:
    """A body is one level deep, or as deep as the least deep line that it has below the cursor."""
    prefix = FOUR + "def b(i):\n    while i:\n"
    indenter = Indenter(prefix, "\n" + below, "python")
    size = step or len(text)
    assert "".join(indenter.feed(text[at : at + size]) for at in range(0, len(text), size)) == expected


@given(
    st.sampled_from([FOUR, TWO, TABS, ""]),
    st.sampled_from(["", "    ", "\t", "x = ", "if x:", "f() {"]),
    st.lists(st.sampled_from([" ", "\t", "\n", "x", "{", "}", ":", "    "]), max_size=24).map("".join),
    st.integers(1, 5),
)
def test_only_white_space_is_changed(document: str, head: str, text: str, step: int) -> None:
    """Whatever comes in, its other characters and lines come out, the same in whatever portions."""
    out = indented(document + head, text, step=step)
    assert out.split() == text.split()
    assert out == indented(document + head, text)
    assert out.count("\n") == text.rstrip().count("\n")
