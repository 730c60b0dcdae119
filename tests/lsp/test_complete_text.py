"""What the completer takes of the server's text, and what of it gets into the log."""

from __future__ import annotations

import pytest

from codeserve.client import RequestError
from codeserve.protocol import Finish
from codeserve_lsp.clean import MAX_CHARS, MAX_LINES
from tests.lsp.double_server import DoubleServer, at, done, make


async def test_an_answer_without_end_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    """Of more text than an answer may have the whole lines are taken, and the server is told to stop."""
    server = DoubleServer(*(["x = 1\n" * 1_000] * 20), "tail")
    completer = make(server)
    answer = await completer.complete(at("x"))
    assert answer.reason == Finish.LENGTH
    assert answer.texts == ["\n".join(["x = 1"] * MAX_LINES)]
    assert server.handles[0].cancelled
    assert [record.getMessage() for record in caplog.records] == [
        f"an answer of more than {MAX_CHARS} characters or {MAX_LINES} lines was cut"
    ]


async def test_a_last_word_that_is_too_long_is_cut() -> None:
    """The text at the end is held to the same measure, and no more candidates are taken than asked for."""
    long = "y" * MAX_CHARS
    server = DoubleServer(done("a\n" + long, candidates=["a\n" + long, "b", "c\x1b", "d", "e"]))
    answer = await make(server).complete(at("x"), candidates=3)
    assert answer.texts == ["a", "b", "c"]


async def test_only_text_that_source_has_is_shown() -> None:
    """Line ends become those of text here, and an odd character ends it, whole or in pieces."""
    server = DoubleServer("a\r", "\nb\x00c\n", "d", done("a\r\nb\x00c\nd"))
    completer = make(server)
    assert (await completer.complete(at("x"))).texts == ["a\nb"]
    server.script = ("a\r", "\nb\x00c\n", "d")
    assert (await completer.complete(at("y"))).texts == ["a\nb"]
    await completer.close()


async def test_what_comes_behind_an_odd_character_is_not_waited_for() -> None:
    """The server is told to stop, unless other candidates are still to come."""
    server = DoubleServer("a\nb\x00c\n", "d")
    completer = make(server)
    answer = await completer.complete(at("x"))
    assert (answer.texts, answer.reason, server.handles[0].cancelled) == (["a\nb"], Finish.STOP, True)
    assert (await completer.complete(at("xa"))).texts == ["\nb"]
    assert len(server.handles) == 1
    server.script = ("a\x00", done("a\x00", candidates=["a\x00", "b"]))
    assert (await completer.complete(at("y"), candidates=2)).texts == ["a", "b"]
    assert not server.handles[1].cancelled
    server.script = ("\x00",)
    assert (await completer.complete(at("z"))).texts == []
    assert server.handles[2].cancelled
    await completer.close()


async def test_a_text_that_begins_with_an_odd_character_is_none() -> None:
    """There is nothing to show, and that is the reason that is told."""
    for script in (["\u2028x"], [done("\u2028x")], ["\u2028x", done("\u2028x")]):
        answer = await make(DoubleServer(*script)).complete(at("x"))
        assert (answer.texts, answer.reason) == ([], Finish.NO_SUGGESTION)


async def test_the_servers_words_stay_out_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """An error of the server may repeat what it was asked: the log has its code."""
    caplog.set_level("DEBUG")
    await make(DoubleServer(RequestError("internal", "sour_ce"))).complete(at("sour_ce"))
    assert "internal" in caplog.text
    assert "sour_ce" not in caplog.text
