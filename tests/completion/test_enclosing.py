from __future__ import annotations

import pytest

from codeserve.completion.enclosing import place


@pytest.mark.parametrize(
    ("language", "prefix"),
    [
        ("python", "# steps:"),
        ("python", "s = 'a {"),
        ("python", 'def f():\n    """Add:'),
        ("javascript", "// like {"),
        ("javascript", "const s = `a {"),
        ("c", "int x; // foo ("),
        ("c", 'char *s = "a ('),
        ("rust", 'let s = "a {'),
        ("php", "<?php\n// f("),
        ("shellscript", "# if x; then"),
        ("go", "x := `a {"),
        ("java", "/* a { */ // b {"),
    ],
)
def test_in_text(language: str, prefix: str) -> None:
    """In a string or comment, whether it has an end or not."""
    where = place(prefix, language)
    assert where is not None
    assert where.text


@pytest.mark.parametrize(
    ("language", "prefix"),
    [
        ("python", "s = 'a'"),
        ("python", "f('a', {"),
        ("c", "/* a */ {"),
        ("rust", "fn f<'a>(x: &'a str) -> &'a str {"),
        ("javascript", "const s = `a`; {"),
        ("python", "# a\n    "),
        ("go", "// a {\nfunc f() {"),
    ],
)
def test_in_code(language: str, prefix: str) -> None:
    """Behind a string or comment, or below it, is code."""
    where = place(prefix, language)
    assert where is not None
    assert not where.text


@pytest.mark.parametrize(
    ("prefix", "statement"),
    [
        ("def f(x):", True),
        ("def f(\n    a,\n):", True),
        ("class A:\n    def f(self):\n        try:", True),
        ("x = {\n    'a':", False),
        ("first = items[:", False),
        ("key = lambda item:", False),
        ("x:", False),
        ("if x[1:2]:", True),
        ("for a in [b for b in c]:", True),
    ],
)
def test_colon(prefix: str, statement: bool) -> None:
    """Whether a colon in Python is that of a statement."""
    where = place(prefix, "python")
    assert where is not None
    assert where.statement is statement


@pytest.mark.parametrize(
    ("language", "prefix", "bracket", "line"),
    [
        ("go", "func f() {\n\tif x {\n\t\ty()\n\t}\n\t", "{", "func f() {"),
        ("java", 'class A {\n    void f() {\n        g("}");\n        ', "{", "    void f() {"),
        ("csharp", "class A\n{\n    int F()\n    {", "{", "    {"),
        ("python", "x = f(1,\n      [2],\n", "(", "x = f(1,"),
        ("python", "x = f(1)\n", "", ""),
        ("javascript", "f(`${a}`, {\n  b: [1],\n", "{", "f(`${a}`, {"),
        ("c", "int f(void) {\n  // }\n  ", "{", "int f(void) {"),
    ],
)
def test_open_bracket(language: str, prefix: str, bracket: str, line: str) -> None:
    """The innermost bracket that is open, those in strings and comments aside."""
    where = place(prefix, language)
    assert where is not None
    assert (where.bracket, where.line) == (bracket, line)


def test_nothing_known() -> None:
    """Without a grammar, or without code, nothing is said."""
    assert place("func f() {", "swift") is None
    assert place("  \n", "python") is None


def test_far_beginning() -> None:
    """What is far above does not count, and does not confuse."""
    where = place("x = 'unfinished\n" + "y = 1\n" * 2000 + "def f(", "python")
    assert where is not None
    assert (where.text, where.bracket) == (False, "(")


def test_endless_line() -> None:
    """A line that is longer than what is parsed says nothing, but what is above it still does not matter."""
    assert place("function a(b){return b({c:1})};" * 2000 + "{", "javascript") is None
    where = place("a(b);" * 9000 + "\nf({", "javascript")
    assert where is not None
    assert where.bracket == "{"


def test_brackets_a_thousand_deep() -> None:
    """They are told like few; a cursor behind their end is in none."""
    deep = "(" * 900
    for prefix, bracket in ((deep, "("), (deep + "1" + ")" * 900, ""), ("x = [" + deep + ")" * 900, "[")):
        where = place(prefix, "javascript")
        assert where is not None
        assert where.bracket == bracket
