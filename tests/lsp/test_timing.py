"""What an editor's extension is told of the time that things take."""

from __future__ import annotations

from typing import Any, NamedTuple

from codeserve.protocol import Done, Finish, Timings, Tokens
from codeserve_lsp.timing import Timing
from tests.lsp.editor import INLINE, Editor
from tests.lsp.wire_server import WireServer

WANTED = INLINE | {"experimental": {"codeserveTimings": True}}


class Over(NamedTuple):
    total_ms: float | None


def done(queue_ms: float, ttft_ms: float | None, total_ms: float) -> Done:
    timings = Timings(queue_ms=queue_ms, ttft_ms=ttft_ms, total_ms=total_ms)
    return Done(id="r1", text="", finish=Finish.STOP, timings=timings, tokens=Tokens(100, 90, 4))


def told(timing: Timing) -> list[tuple[str, Any]]:
    """The notifications from here on."""
    notes: list[tuple[str, Any]] = []
    timing.notify = lambda method, body: notes.append((method, body))
    return notes


def test_stages_add_up() -> None:
    """Network, queue, prefill and decode together are the time that the client waited."""
    timing = Timing()
    notes = told(timing)
    timing.ended(Over(50.0), done(1.0, 11.0, 41.0))
    [(method, body)] = notes
    assert method == "codeserve/timed"
    assert [body[f"{stage}Ms"] for stage in ("network", "queue", "prefill", "decode")] == [9, 1, 10, 30]
    assert (body["promptTokens"], body["cachedTokens"], body["outputTokens"]) == (100, 90, 4)


def test_no_negative_times() -> None:
    """Clocks that differ by a little give no time below zero."""
    timing = Timing()
    notes = told(timing)
    timing.ended(Over(40.9), done(1.0, 11.0, 41.0))
    assert notes[0][1]["networkMs"] == 0


def test_requests_that_the_model_did_not_work_on_are_not_timed() -> None:
    """Without a first token, or without an end on this side, there are no stages to tell."""
    timing = Timing()
    notes = told(timing)
    timing.ended(Over(40.0), done(0.0, None, 30.0))
    timing.ended(Over(None), done(1.0, 11.0, 41.0))
    assert notes == []


async def test_an_editor_that_asks_is_told() -> None:
    """Of a request: the answer and its stages. Of the next keystroke, which needs none: it was cached."""
    async with WireServer("foo(bar)") as wire, Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize(WANTED)
        await editor.status("ready")
        editor.open("x = \n")
        assert await editor.texts(0, 4) == ["foo(bar)"]
        editor.change(0, 4, "f")
        assert await editor.texts(0, 5) == ["oo(bar)"]
        answered = [body for name, body in editor.notes if name == "codeserve/answered"]
        [timed] = [body for name, body in editor.notes if name == "codeserve/timed"]
    assert [(body["cached"], body["items"]) for body in answered] == [(False, 1), (True, 1)]
    assert {body["request"] for body in answered} == {timed["request"]}
    assert {body["uri"] for body in answered} == {editor.uri}
    assert timed["queueMs"] == 0.5


async def test_an_answer_without_a_request_says_why() -> None:
    """In a language that is switched off nothing is asked, and the reason is told."""
    settings = {"languages": {"python": False}}
    async with WireServer() as wire, Editor(settings={"serverUrl": wire.url, **settings}) as editor:
        await editor.initialize(WANTED)
        editor.open("x = \n")
        assert await editor.texts(0, 4) == []
        [body] = [body for name, body in editor.notes if name == "codeserve/answered"]
    assert (body["reason"], body["request"], body["items"]) == ("disabled_here", "", 0)


async def test_an_editor_that_does_not_ask_is_not_told() -> None:
    """An editor that knows nothing of it gets no messages that it does not understand."""
    async with WireServer() as wire, Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize()
        await editor.status("ready")
        editor.open("x = \n")
        assert await editor.texts(0, 4)
        assert {name for name, _ in editor.notes} == {"codeserve/status"}
