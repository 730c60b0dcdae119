from __future__ import annotations

import pytest

from codeserve.completion.beyond import Beyond
from codeserve.completion.stop import stop_rule

FUNCTION = "class A:\n    def f(self, x):\n        if x:\n"


def kept(text: str, *, suffix: str = "\n", ended: bool, step: int = 0, language: str = "python") -> str:
    rule = stop_rule("block", FUNCTION, suffix, language)
    size = step or len(text)
    for length in range(size, len(text) + size, size):
        end = rule.scan(text[:length], ended=ended and length >= len(text))
        if rule.stopped:
            break
    return text[:end].rstrip()


@pytest.mark.parametrize("step", [0, 1, 5])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("            y()\n        z()", "            y()\n        z()"),
        ("            y()\n        default = 1", "            y()\n        default = 1"),
        ("            y()\n        func(x)", None),
        ("            y()\n        proc = x", None),
        ("            y()\n    def g(self):", "            y()"),
        ("            y()\n        z()\n    def g(self):", "            y()\n        z()"),
        ("            y()\n        z()\n    async def g(self):", "            y()\n        z()"),
        ("            y()\n        z()\n    @property", "            y()\n        z()"),
        ("            y()\n        z()\nA()", "            y()\n        z()"),
        ("            y()\n        if z:\n            u()\n        v()", None),
    ],
)
def test_up_to_the_end_of_the_function(text: str, expected: str | None, step: int) -> None:
    """From a blank line at the left edge a text that ends goes on to where the function does."""
    assert kept(text, ended=True, step=step) == (text if expected is None else expected)


@pytest.mark.parametrize("step", [0, 1])
def test_what_has_no_end(step: int) -> None:
    """While the text goes on only the first block counts; its line is known to have ended."""
    text = "            y()\n        z()"
    assert kept(text, ended=False, step=step) == "            y()"
    rule = stop_rule("block", FUNCTION, "\n", "python")
    over = []
    for length in range(len(text) + 1):
        rule.scan(text[:length])
        over.append(rule.line_over)
    assert over.index(True) == text.index("z") + 1
    assert not stop_rule("line", "", "", "python").line_over


@pytest.mark.parametrize(
    ("below", "text", "whole"),
    [
        ("            u()\n", "            y()\n        z()", False),
        ("            u()\n", "            y()\n        else:", True),
        ("            u()\n", "            y()\n        z(", True),
        ("        u()\n", "            y()\n        z()", True),
        ("    u()\n", "            y()\n        z()", True),
        ("            b)\n", "            y()\n        z((a,\n        )", True),
        ("            b)\n", "            y()\n        z((a,\n        )\n", True),
        ("        )\n", "            y,\n        z", False),
        ("    )\n", "            y(\n        z", True),
        ("", "            y()\n        z()", True),
    ],
)
def test_what_the_line_below_can_follow(below: str, text: str, whole: bool) -> None:
    """Lines behind the block count only where the document can go on behind them."""
    assert (kept(text, suffix="\n" + below, ended=True) == text.rstrip()) is whole


def test_languages() -> None:
    """Only where indentation alone ends a block, and there are functions."""
    for language in ("javascript", "ruby", "yaml", ""):
        assert Beyond(0, "", language).admits("z", 8, False) is False
    assert Beyond(0, "", "nim").admits("z()", 8, False) is True


@pytest.mark.parametrize(
    ("code", "whole", "expected"),
    [
        ("d", False, None),
        ("d", True, True),
        ("async ", False, None),
        ("async with", False, True),
        ("@", False, False),
        ("func ", False, None),
        ("func(", False, True),
        ("func f", False, False),
        ("func", True, True),
    ],
)
def test_undecided(code: str, whole: bool, expected: bool | None) -> None:
    """The beginning of a word that may begin a function is neither, until the line has ended."""
    assert Beyond(0, "", "python").admits(code, 4, whole) is expected
