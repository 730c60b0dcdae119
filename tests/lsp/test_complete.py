"""The promise, on the completer alone: a server double that does what a test says, and a real clock."""

from __future__ import annotations

import asyncio

import pytest

from codeserve.client import RequestError
from codeserve.protocol import Finish
from codeserve_lsp.complete import MARGIN_MS, Completer, Request
from codeserve_lsp.documents import Snapshot
from tests.lsp.double_server import BUDGET, URI, DoubleServer, at, done, make


async def until(completer: Completer, server: DoubleServer, count: int = 1) -> None:
    """Let the requests get under way."""
    await asyncio.sleep(0.005)
    assert len(server.handles) == count
    assert completer.busy(URI)


async def test_the_text_of_the_server() -> None:
    """What the server says is the answer, as soon as it is complete."""
    completer = make(DoubleServer("ret", "urn", done("return")))
    answer = await completer.complete(at("x"))
    assert (answer.texts, answer.reason) == (["return"], Finish.STOP)
    assert completer.stats.answers == {"shown": 1}


async def test_deadline_gives_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """When time is up, the lines that have ended are the answer; the model may go on writing."""
    deadlines: list[float] = []
    timeout_at = asyncio.timeout_at

    def noted(when: float) -> asyncio.Timeout:
        deadlines.append(when)
        return timeout_at(when)

    monkeypatch.setattr(asyncio, "timeout_at", noted)
    server = DoubleServer("one\ntw")
    completer = make(server, budget_ms=BUDGET)
    arrived = asyncio.get_running_loop().time()
    answer = await completer.complete(at("x"), arrived=arrived)
    assert (answer.texts, answer.reason) == (["one"], Finish.DEADLINE)
    assert deadlines == [arrived + (BUDGET - MARGIN_MS) / 1000]
    assert server.handles[0].request.deadline_ms > BUDGET
    await completer.close()


async def test_late_text_serves_the_next_keystroke() -> None:
    """What arrives behind the deadline is there for the next request, without asking again."""
    server = DoubleServer()
    completer = make(server, budget_ms=BUDGET)
    assert (await completer.complete(at("x"))).texts == []
    server.handles[0].put("foo", done("foo(bar)"))
    await asyncio.sleep(0.01)
    answer = await completer.complete(at("xf"))
    assert answer.texts == ["oo(bar)"]
    assert len(server.handles) == 1
    assert completer.stats.late == 1
    assert completer.stats.from_cache == 1


async def test_typing_through_an_unfinished_text() -> None:
    """A keystroke that agrees with what is being written waits for it and does not ask anew."""
    server = DoubleServer("foo(")
    completer = make(server)
    first = asyncio.create_task(completer.complete(at("x")))
    await until(completer, server)
    await asyncio.sleep(0.01)
    second = asyncio.create_task(completer.complete(at("xfoo(b")))
    await asyncio.sleep(0.01)
    server.handles[0].put("bar)", done("foo(bar)"))
    assert (await second).texts == ["ar)"]
    assert (await first).reason == Finish.SUPERSEDED
    assert len(server.handles) == 1


async def test_a_text_that_turns_out_otherwise_is_asked_for_again() -> None:
    """When what is being written comes to contradict what was typed, the server is asked in the time left."""
    server = DoubleServer("foo(")
    completer = make(server)
    first = asyncio.create_task(completer.complete(at("x")))
    await until(completer, server)
    await asyncio.sleep(0.01)
    second = asyncio.create_task(completer.complete(at("xfoo(b")))
    await asyncio.sleep(0.01)
    server.script = ("ar)", done("ar)"))
    server.handles[0].put("c")
    assert (await second).texts == ["ar)"]
    assert len(server.handles) == 2
    assert (await first).texts == []
    await completer.close()


async def test_newer_request_ends_the_older_at_once() -> None:
    """One request for a document waits; the one before gets an empty answer right away, others stay."""
    server = DoubleServer()
    completer = make(server)
    other = asyncio.create_task(completer.complete(at("x", uri="file:///b.py")))
    first = asyncio.create_task(completer.complete(at("x")))
    await until(completer, server, 2)
    second = asyncio.create_task(completer.complete(at("xy")))
    answer = await first
    assert (answer.texts, answer.reason) == ([], Finish.SUPERSEDED)
    server.handles[2].put(done("z"))
    assert (await second).texts == ["z"]
    server.handles[0].put(done("w"))
    assert (await other).texts == ["w"]
    await completer.close()


async def test_a_change_ends_what_waits() -> None:
    """An answer to a text that is no more is not given; the server's goes into the cache."""
    server = DoubleServer()
    completer = make(server)
    first = asyncio.create_task(completer.complete(at("x")))
    await until(completer, server)
    completer.changed(URI)
    assert (await first).reason == Finish.SUPERSEDED
    server.handles[0].put(done("foo"))
    await asyncio.sleep(0.01)
    assert (await completer.complete(at("xf"))).texts == ["oo"]


async def test_cancelled_request_leaves_the_server_to_it() -> None:
    """The editor's cancellation ends the request alone; what the server writes is kept."""
    server = DoubleServer()
    completer = make(server)
    first = asyncio.create_task(completer.complete(at("x")))
    await until(completer, server)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not completer.busy(URI)
    server.handles[0].put(done("foo"))
    await asyncio.sleep(0.01)
    assert (await completer.complete(at("x"))).texts == ["foo"]
    assert len(server.handles) == 1


async def test_no_server_is_an_empty_answer_at_once() -> None:
    """While no request is taken, nothing is asked, nothing waits and nothing is kept."""
    server = DoubleServer()
    server.reason = "offline"
    completer = make(server)
    answer = await completer.complete(at("x"))
    assert (answer.texts, answer.reason) == ([], "unavailable")
    assert server.handles == []


async def test_cache_answers_without_a_server() -> None:
    """What is known already is shown also while the server is away."""
    server = DoubleServer(done("foo"))
    completer = make(server)
    await completer.complete(at("x"))
    server.reason = "offline"
    assert (await completer.complete(at("xf"))).texts == ["oo"]


@pytest.mark.parametrize("failure", [RequestError("overloaded", "too much"), RuntimeError("broken")])
async def test_failure_is_an_empty_answer(failure: Exception) -> None:
    """Whatever goes wrong, the answer is empty, and the next keystroke asks again."""
    server = DoubleServer(failure)
    completer = make(server)
    answer = await completer.complete(at("x"))
    assert (answer.texts, answer.reason) == ([], getattr(failure, "code", "internal"))
    server.script = (done("foo"),)
    assert (await completer.complete(at("x"))).texts == ["foo"]


async def test_request_that_cannot_be_made() -> None:
    """A request that raises when it is made is an empty answer too."""
    server = DoubleServer()

    def prepare(snapshot: Snapshot) -> Request:
        raise ValueError("no")

    completer = Completer(server, prepare, budget_ms=BUDGET)
    assert (await completer.complete(at("x"))).reason == "internal"
    assert not completer.busy(URI)


async def test_no_suggestion_is_not_asked_twice() -> None:
    """Where the model has nothing to say, the same question is not put again."""
    server = DoubleServer(done("", Finish.NO_SUGGESTION))
    completer = make(server)
    for _ in range(2):
        assert (await completer.complete(at("x"))).reason == Finish.NO_SUGGESTION
    assert len(server.handles) == 1
    await completer.complete(at("xy"))
    assert len(server.handles) == 2


async def test_superseded_text_keeps_its_whole_lines() -> None:
    """Of a text that was not written to its end the whole lines serve when the cursor comes back."""
    server = DoubleServer("one\ntw", done("", Finish.SUPERSEDED))
    completer = make(server)
    await completer.complete(at("x"))
    assert (await completer.complete(at("x"))).texts == ["one"]
    assert len(server.handles) == 1


async def test_candidates_by_hand() -> None:
    """A request for more texts asks anew and gets all that differ."""
    server = DoubleServer(done("foo"))
    completer = make(server)
    await completer.complete(at("x"))
    server.script = (done("foo", candidates=["foo", "bar"]),)
    assert (await completer.complete(at("x"), candidates=3)).texts == ["foo", "bar"]
    assert server.handles[1].request.candidates == 3


async def test_budget_counts_from_arrival() -> None:
    """Time that passed before the completer was asked is gone."""
    completer = make(DoubleServer())
    completer.budget_ms = 60_000
    async with asyncio.timeout(20):
        await completer.complete(at("x"), arrived=asyncio.get_running_loop().time() - 60)
    await completer.close()


async def test_without_asking_only_what_is_known_counts() -> None:
    """Where a keystroke is not worth a request the cache still answers, and otherwise the reason is told."""
    server = DoubleServer(done("foo(a) + b"))
    completer = make(server)
    assert (await completer.complete(at("x = "), ask=False)).reason == "not_here"
    assert server.handles == []
    await completer.complete(at("x = "))
    assert (await completer.complete(at("x = foo(a)"), ask=False)).texts == [" + b"]
    assert len(server.handles) == 1
    assert completer.stats.answers["not_here"] == 1


async def test_a_text_that_turns_out_otherwise_is_not_asked_for_where_it_is_not_worth_it() -> None:
    """What was on its way and turns out to be something else leads to no request there."""
    server = DoubleServer("f")
    completer = make(server)
    first = asyncio.create_task(completer.complete(at("x = ")))
    await until(completer, server)
    second = asyncio.create_task(completer.complete(at("x = f(1)"), ask=False))
    await asyncio.sleep(0.01)
    server.handles[0].put("oo", done("foo"))
    assert (await second).reason == "not_here"
    assert (await first).reason == "superseded"
    assert len(server.handles) == 1


async def test_by_hand_gets_what_is_unsure() -> None:
    """By hand all is wanted: the server's threshold is overruled, and an empty answer is asked for again."""
    server = DoubleServer(done("", Finish.NO_SUGGESTION))
    completer = make(server)
    await completer.complete(at("x = "))
    server.script = (done("foo"),)
    assert (await completer.complete(at("x = "), by_hand=True)).texts == ["foo"]
    assert [handle.request.min_confidence for handle in server.handles] == [None, -100]
