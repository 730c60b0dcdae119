from __future__ import annotations

import pytest

from codeserve.completion.junk import JunkFinder


def found(text: str, *, prefix: str = "", suffix: str = "", language: str = "python", step: int = 0) -> str:
    """What of a text comes before junk, when it arrives ``step`` characters at a time."""
    finder = JunkFinder(prefix, suffix, language)
    for end in range(step, len(text), step) if step else ():
        finder.scan(text[:end])
    at = finder.scan(text)
    return text if at is None else text[:at]


@pytest.mark.parametrize(
    "junk",
    [
        *(
            "<EOT>",
            "<|endoftext|>",
            "<fim_middle>",
            "<|fim_middle|>",
            "<｜fim▁end｜>",
            "[/INST]",
            "<|im_end|>",
        ),
        *("\x00", "\x1b[31m", "\u202e", "\u2066", "\ufffd", "\n```\n"),
    ],
)
@pytest.mark.parametrize("step", [0, 1, 7])
def test_junk_ends_the_text(junk: str, step: int) -> None:
    """Sentinels of all families, control characters and fences end it, however it arrives."""
    assert found(f"a = 1{junk}b = 2", step=step).rstrip() == "a = 1"


@pytest.mark.parametrize(
    "text", ["a < EOT > b", "List<MID_POINT>", "a[PREFIX]", "x\ty\f\n", "'```'", "    ```\n", "if a<b|c>d:"]
)
def test_code_is_none(text: str) -> None:
    """What only resembles it is left alone."""
    assert found(text) == text


def test_what_the_document_has() -> None:
    """In a document about sentinels they are code, before or behind the cursor; others still are not."""
    assert found("'<EOT>'", prefix="STOP = '<EOT>'\n") == "'<EOT>'"
    assert found("'<EOT>'", suffix="\n# <EOT>") == "'<EOT>'"
    assert found("'<EOT>'<MID>", suffix="\n# <EOT>") == "'<EOT>'"


def test_fences_in_prose() -> None:
    """In Markdown a fence is text."""
    assert found("```sh\nls\n```", language="markdown") == "```sh\nls\n```"
