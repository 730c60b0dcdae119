from __future__ import annotations

import pytest

from codeserve.completion.leading import LeadingLines


def fed(prefix: str, suffix: str, output: str, step: int, language: str = "python") -> str:
    leading = LeadingLines(prefix, suffix, language)
    return "".join(leading.feed(output[place : place + step]) for place in range(0, len(output), step))


@pytest.mark.parametrize("step", [1, 3, 99])
@pytest.mark.parametrize(
    ("prefix", "suffix", "output", "expected"),
    [
        ("x = 1\n", "\ny", "\n    return x\n", "    return x\n"),
        ("x = 1\n", "", "\n\nreturn x", "return x"),
        ("x = 1\n    ", "  \ny", "\n    return x", "return x"),
        ("x = 1\n    ", "\ny", "\n  \n        return x", "    return x"),
        ("x = 1\n\t", "\ny", "\n\treturn\n\n\tx", "return\n\n\tx"),
        # as deep as it stands there it cannot be written here
        ("x = 1\n        ", "\ny", "\n    return x", "\n    return x"),
        ("x = 1\n        ", "\ny", "\n\treturn x", "\n\treturn x"),
        # indented by other white space
        ("x = 1\n    ", "\ny", "\n\treturn x", "return x"),
        ("x = 1\n    ", "\ny", "\n\t\treturn x", "    return x"),
        ("x = 1\n\t", "\ny", "\n        return x", "\treturn x"),
        ("x = 1\n\t", "\ny", "\n      return x", "  return x"),
        # at the margin, behind a block
        ("    x = 1\n", "\ny", "\n\ndef f():", "\n\ndef f():"),
        ("}\n", "\ny", "\nf()", "\nf()"),
        ("    x = 1\n\n", "\ny", "\ndef f():", "def f():"),
        ("    f(\n    1,\n", "\ny", "\n)", ")"),
        ("    return 0;\n", "\ny", "\n}", "}"),
        ('    """Text.\n', "\ny", '\n"""', '"""'),
        ("done\n", "\ny", "\nf", "\nf"),
        ("donee\n", "\ny", "\nf", "f"),
        ("} else {\n", "\ny", "\nf()", "f()"),
        ("x = 1\n\t", "\ny", "\n    \u3000x", "\u3000x"),
        ("    x = 1\n", "\ny", "\n  return x", "  return x"),
        # no line, or none that belongs to the completion
        ("x = 1\n", "\ny", "\n\n\nreturn x", "\n\n\nreturn x"),
        ("x = 1\n", "\ny", "\n\n", ""),
        # no blank line in front, or none under the cursor
        ("x = 1\n", "\ny", "  x = 2", "  x = 2"),
        ("if x:", "\ny", "\n    return x", "\n    return x"),
        ("    ", "return x\n", "\n    y = 1", "\n    y = 1"),
    ],
)
def test_the_line_is_written_where_the_cursor_is(
    prefix: str, suffix: str, output: str, expected: str, step: int
) -> None:
    """Blank lines in front go where the cursor's line is blank, in whatever pieces the output comes."""
    assert fed(prefix, suffix, output, step) == expected


@pytest.mark.parametrize("language", ["markdown", "plaintext", "tex", "git-commit", ""])
def test_paragraphs_stay_apart(language: str) -> None:
    """In prose the blank line between two paragraphs is kept."""
    assert fed("One.\n", "\nThree.", "\nTwo.", 1, language) == "\nTwo."
