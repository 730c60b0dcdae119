from __future__ import annotations

import pytest

from codeserve.completion.lines import indentation, line_below, loop_length, opens_block, statement_column


@pytest.mark.parametrize(
    ("line", "column"), [("x", 0), ("  x", 2), ("\tx", 4), ("  \tx", 4), ("\t  x", 6), ("", 0)]
)
def test_indentation(line: str, column: int) -> None:
    """Tabs go to the next multiple of four."""
    assert indentation(line) == column


@pytest.mark.parametrize(
    ("prefix", "column"),
    [
        ("    if x:", 4),
        ("    def f(a,\n          b):", 4),
        ("  if (a &&\n      b) {", 2),
        ("f(\n  a\n) {", 0),
        ("with a, \\\n        b:", 0),
        ("x = f(a,\n      b", 6),  # nothing is closed: it is not a statement's end
        ("if a {\n    for {\n        x\n    }\n} else {", 0),
        ("  f(a, () => {\n    x\n  }, () => {", 2),
        ("    y)\n  x):", 2),  # it does not begin here
        ("if a {\n    for {\n" + "        x()\n" * 60 + "    }\n} else {", 0),  # nor within reach
        ("if a {\n    " + "x" * 5_000 + "\n} else {", 0),
    ],
)
def test_statement_column(prefix: str, column: int) -> None:
    """Where the statement begins, which may be some lines above."""
    assert statement_column(prefix, "python") == column


def test_line_below() -> None:
    """The cursor's own line does not count, nor do blank ones."""
    assert line_below("rest\n\n   \n  next  \nmore") == "  next"
    assert line_below("rest") == line_below("") == line_below("rest\n \n") == ""


def test_loop_length() -> None:
    """The shortest period that is said three times over at the end."""
    assert loop_length(["a", "b", "b", "b"]) == 1
    assert loop_length(["a", "b"] * 3) == 2
    assert loop_length(["a", "b"] * 2) == loop_length([]) == 0


@pytest.mark.parametrize(
    ("line", "language", "opens"),
    [
        ("if a:", "python", True),
        ("if a:", "c", False),
        ("f(", "c", True),
        ("x = {", "", True),
        ("def f", "ruby", True),
        ("<ul>", "html", True),
        ("<br>", "html", False),
        ("x = 1", "python", False),
        ("", "python", False),
    ],
)
def test_opens_block(line: str, language: str, opens: bool) -> None:
    """Brackets anywhere; colons, words and tags where the language has blocks by them."""
    assert opens_block(line, language) is opens
