"""What of the server's text is taken, and how it is shown."""

from __future__ import annotations

import unicodedata
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve_lsp import clean as module
from codeserve_lsp.clean import MAX_CHARS, MAX_LINES, Intake, shown
from codeserve_lsp.text import newlines

ODD = st.text(st.sampled_from("ab \t\f\r\n\0\x1b\x7f\x85\u2028\u202e\ufffd\ufeff\ud83d\U0001fffe🙂é\u200d"))


def usable(text: str, document: tuple[str, ...] = ()) -> str:
    """What the rule says, letter by letter, of a whole text of any length."""
    for end, letter in enumerate(text):
        if module._NEVER.match(letter) and not any(letter in part for part in document):
            return newlines(text[:end])
    return newlines(text)


def together(pieces: list[str], document: tuple[str, ...] = ()) -> str:
    intake = Intake(document)
    return "".join(intake.take(piece) for piece in pieces)


@given(ODD)
def test_only_what_source_has(text: str) -> None:
    """Up to the first odd character the text is the server's, its line ends apart; that one is not there."""
    taken = together([text])
    assert not set(taken) & set("\r\0\x1b\x7f\x85\u2028\u202e\ufffd\ufeff\ud83d\U0001fffe")
    assert newlines(text).startswith(taken)
    assert set(text[: len(taken)]) <= set("ab \t\f\r\n🙂é\u200d")
    assert together([taken]) == taken


@given(st.lists(ODD, max_size=6))
def test_pieces_make_the_whole(pieces: list[str]) -> None:
    """However the text is cut into pieces, what is taken is the same; a last "\\r" may still be waited on."""
    whole, taken = usable("".join(pieces)), together(pieces)
    assert whole == taken or ("".join(pieces).endswith("\r") and whole == taken + "\n")


@given(st.lists(st.text("a\n\r", max_size=30), max_size=8))
def test_an_answer_is_bounded(pieces: list[str]) -> None:
    """Of a text that is too long the first part is taken, and it is said to be too long."""
    with mock.patch.object(module, "MAX_CHARS", 24), mock.patch.object(module, "MAX_LINES", 5):
        intake = Intake()
        taken = "".join(intake.take(piece) for piece in pieces)
    whole = usable("".join(pieces))
    assert whole.startswith(taken)
    assert len(taken) <= 24
    assert taken.count("\n") <= 5
    assert intake.too_long or whole in (taken, taken + "\n")
    if intake.too_long:
        assert len("".join(pieces)) > 24 or whole.count("\n") > 5


@given(ODD, ODD)
def test_what_the_document_has_is_source(text: str, document: str) -> None:
    """Characters that are around the cursor already do not end a text, whole or in pieces."""
    taken = usable(text, ("", document))
    assert together([text], ("", document)) in (taken, taken.removesuffix("\n"))
    assert together([*text], ("", document)) in (taken, taken.removesuffix("\n"))
    assert together([*text, "."], (text,)) == newlines(text + ".")


class Searched(str):
    """A text that counts how often it was gone over for a character."""

    times = 0

    def __contains__(self, part: object) -> bool:
        self.times += 1
        return super().__contains__(part)


def test_the_document_is_searched_once_for_each_character() -> None:
    """However often an answer has it, in one piece or in many."""
    document = Searched("x" * 100 + "\ufeff\ufffd")
    intake = Intake((document,))
    assert "".join(intake.take("\ufeff\ufffd" * 50) for _ in range(4)) == "\ufeff\ufffd" * 200
    assert document.times == 2


def test_the_protocols_most_is_taken() -> None:
    """A completion of as many tokens as the protocol allows goes through whole."""
    text = "    value = compute(1)\n" * 2_048
    assert len(text) < MAX_CHARS
    assert together([text]) == text
    assert together(["\n" * (MAX_LINES + 1)]) == "\n" * MAX_LINES


@pytest.mark.parametrize(
    "text", ["e\u0301", "🙂", "👩\u200d💻", "שלום\u200f", "\tx", "a\f", "日本語", "\U000e0041"]
)
def test_text_of_any_language_stays(text: str) -> None:
    """Letters of all scripts, combining marks, emoji and their joiners are source."""
    assert together([text]) == text
    assert not any(unicodedata.category(char) == "Cc" for char in text if char not in "\t\f")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("mini", "mini"),
        ("\x1b[2Jmini\n\x07x ", "[2Jmini x"),
        ("\x1b[2J" * 5_000, "[2J " * 74 + "[2J…"),
        ("\u202egnp\ud800", "gnp"),
        ("", ""),
    ],
)
def test_one_line_to_be_shown(text: str, line: str) -> None:
    """A name from the server is shown as one line of bounded length that no terminal acts on."""
    assert shown(text) == line
