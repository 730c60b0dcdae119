from __future__ import annotations

import pytest

from codeserve.completion.brackets import Balance, balance, in_string


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("f(a[0]", "python", Balance("(", ())),
        ("x) + y]", "python", Balance("", (1, 6))),
        ("'(' \"[\" `{`", "javascript", Balance("", ())),
        ("f('it\\'s (', (", "python", Balance("((", ())),
        ("x  # see (a", "python", Balance("", ())),
        ("x  // see (a", "go", Balance("", ())),
        ("fn f<'a>(x: &'a str, c: '(') {", "rust", Balance("{", ())),
        ("case '(': f(", "c", Balance("(", ())),
        ("(]", "", Balance("(", (1,))),
    ],
)
def test_balance(text: str, language: str, expected: Balance) -> None:
    """Brackets in strings, character literals and line comments do not count."""
    assert balance(text, language) == expected


def test_balance_goes_on() -> None:
    """What was open before may be closed here."""
    assert balance("x);", "go", "({") == Balance("({", (1,))
    assert balance("x});", "go", "({") == Balance("", ())


@pytest.mark.parametrize(
    ("line", "quote", "inside"),
    [
        ('print("', '"', True),
        ('print("a"', '"', False),
        ("print(\"it's", "'", False),
        ('print("a\\"', '"', True),
        ("", '"', False),
    ],
)
def test_in_string(line: str, quote: str, inside: bool) -> None:
    """A string begins and ends with the same quote, escaped ones aside."""
    assert in_string(line, quote) is inside


@pytest.mark.parametrize("language", ["python", "rust"])
def test_quotes_without_an_end(language: str) -> None:
    """They begin no string, however many there are: brackets behind them count."""
    text = 'x = "' + '\\"a\\":' * 4_000 + "({`)`" if language == "python" else "'a " * 8_000 + '({")"'
    assert balance(text, language) == Balance("({", ())
    assert balance('"\\" ( \'[\' \\" {', "python").open == "({"
