from __future__ import annotations

import pytest

from codeserve.completion.languages import comment_marks, indents_blocks, language_of


@pytest.mark.parametrize(
    ("language", "path", "expected"),
    [
        ("python", "a.txt", "python"),
        ("Python", "", "python"),
        ("", "src/a.py", "python"),
        ("", "A.TSX", "typescriptreact"),
        ("", "Makefile", ""),
        ("", "", ""),
        ("", "C:\\x\\a.go", "go"),
    ],
)
def test_language_of(language: str, path: str, expected: str) -> None:
    """The client's language id counts; without one, the path's extension."""
    assert language_of(language, path) == expected


def test_comment_marks() -> None:
    """Each language has its own, an unknown one those of C."""
    assert comment_marks("python") == ("# ", "")
    assert comment_marks("html") == ("<!-- ", " -->")
    assert comment_marks("brainfuck") == ("// ", "")


def test_indents_blocks() -> None:
    """A colon opens a block in Python, not in TypeScript."""
    assert indents_blocks("python")
    assert not indents_blocks("typescript")
