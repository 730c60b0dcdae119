from __future__ import annotations

from codeserve.server.app import Server
from tests.scripted_engine import Length, Pause, ScriptedEngine, Stall
from tests.server.peer import peer, started, until


async def test_complete(server: Server, scripted: ScriptedEngine) -> None:
    """A completion streams deltas and ends in one done, whose text they begin with."""
    scripted.play("return a + b\n\n\ndef g():\n")
    async with peer(server) as one:
        answer = await one.ask("1", "def f(a, b):\n    ")
    assert answer.text == "return a + b"
    assert answer.finish == "stop"
    assert answer.streamed.startswith(answer.text)
    timings, tokens = answer.last["timings"], answer.last["tokens"]
    assert 0 <= timings["queue_ms"] <= timings["ttft_ms"] <= timings["total_ms"]
    assert tokens["prompt"] == len(scripted.requests[0].prompt_token_ids)
    assert tokens["output"] > 0
    assert answer.last["candidates"] == []


async def test_stop_rule_aborts(server: Server, scripted: ScriptedEngine) -> None:
    """Where the stop rule is met the engine is aborted, though it would go on."""
    scripted.play("1)\n", "y = 2\n" * 20, Stall())
    async with peer(server) as one:
        answer = await one.ask("1", "x = f(", mode="line")
        assert (answer.text, answer.finish) == ("1)", "stop")
        await until(lambda: not scripted.live)
    assert scripted.aborted == [scripted.requests[0].id]


async def test_length(server: Server, scripted: ScriptedEngine) -> None:
    """Where the engine used up the output budget, finish says so."""
    scripted.play("a + b", Length())
    async with peer(server) as one:
        answer = await one.ask("1", "x = ")
    assert (answer.text, answer.finish) == ("a + b", "length")


async def test_no_suggestion(server: Server, scripted: ScriptedEngine) -> None:
    """An empty completion says that there is no suggestion."""
    scripted.play("")
    async with peer(server) as one:
        answer = await one.ask("1")
    assert (answer.text, answer.streamed, answer.finish) == ("", "", "no_suggestion")


async def test_supersede(server: Server, scripted: ScriptedEngine) -> None:
    """A newer request for the document ends the older at once, and the engine drops it."""
    scripted.play_next("slow", Stall())
    async with peer(server) as one:
        await started(one, scripted, "old", document="a.py")
        await one.complete("new", document="a.py")
        old, new = await one.answer("old"), await one.answer("new")
        assert (old.finish, old.text) == ("superseded", "")
        assert (new.finish, new.text) == ("stop", "x = 1")
        await until(lambda: scripted.aborted)
    assert scripted.aborted[0] == scripted.requests[0].id


async def test_superseded_before_engine(server: Server, scripted: ScriptedEngine) -> None:
    """Of a burst for one document each request is answered once, and only the last one with a text."""
    scripted.play(Pause(0.05), "x = 1\n")
    async with peer(server) as one:
        for number in range(50):
            await one.complete(str(number), document="a.py")
        messages = [await one.next() for _ in range(49)]
        assert [(m["id"], m["finish"]) for m in messages] == [(str(n), "superseded") for n in range(49)]
        assert (await one.answer("49")).text == "x = 1"


async def test_documents_apart(server: Server, scripted: ScriptedEngine) -> None:
    """Requests for two documents run side by side."""
    scripted.play(Pause(0.05), "x = 1\n")
    async with peer(server) as one:
        await one.complete("1", document="a.py")
        await one.complete("2", document="b.py")
        assert {(await one.answer("1")).finish, (await one.answer("2")).finish} == {"stop"}


async def test_clients_apart(server: Server, scripted: ScriptedEngine) -> None:
    """The same document and the same id on another connection are somebody else's."""
    scripted.play(Pause(0.2), "x = 1\n")
    async with peer(server) as one, peer(server) as two:
        await one.complete("1", document="a.py")
        await two.complete("1", document="a.py")
        await two.send("cancel", id="1")
        assert (await two.answer("1")).finish == "cancelled"
        assert (await one.answer("1")).finish == "stop"


async def test_cancel(server: Server, scripted: ScriptedEngine) -> None:
    """A cancelled request is answered at once and dropped by the engine."""
    scripted.play("x", Stall())
    async with peer(server) as one:
        await started(one, scripted, "1")
        await one.send("cancel", id="1")
        assert (await one.answer("1")).finish == "cancelled"
        await until(lambda: not scripted.live)
    assert scripted.aborted == [scripted.requests[0].id]


async def test_cancel_unknown(server: Server) -> None:
    """A thousand cancels of ids that are not live are taken without an answer."""
    async with peer(server) as one:
        for number in range(1000):
            await one.send("cancel", id=f"unknown {number}")
        await one.complete("1")
        assert (await one.next())["id"] == "1"


async def test_disconnect(server: Server, scripted: ScriptedEngine) -> None:
    """When a client goes away the engine drops all it asked for, and nobody else's."""
    scripted.play(Stall())
    async with peer(server) as other:
        await started(other, scripted, "other")
        async with peer(server) as one:
            for id in ("1", "2", "3"):
                await started(one, scripted, id)
            one.socket.transport.abort()
        await until(lambda: len(scripted.live) == 1)
        assert scripted.live == {scripted.requests[0].id}


async def test_duplicate_id(server: Server, scripted: ScriptedEngine) -> None:
    """An id that is live cannot be used again; the live request goes on."""
    scripted.play(Pause(0.1), "x = 1\n")
    async with peer(server) as one:
        await one.complete("1", document="a.py")
        await one.complete("1", document="b.py")
        assert (await one.answer("1")).code == "duplicate_id"
        assert (await one.answer("1")).finish == "stop"
        assert (await one.ask("1")).finish == "stop"  # now it is free


async def test_prewarm(server: Server, scripted: ScriptedEngine) -> None:
    """A prewarm asks the engine for one token, last in its queue, and brings no text."""
    async with peer(server) as one:
        await one.complete("0")
        await one.answer("0")
        await one.send("prewarm", id="1", document="a.py", prefix="x = ")
        answer = await one.answer("1")
    assert (answer.finish, answer.text, answer.streamed) == ("prewarmed", "", "")
    completion, prewarm = scripted.requests
    assert prewarm.max_tokens == 1
    assert prewarm.priority > completion.priority


async def test_prewarm_yields(server: Server, scripted: ScriptedEngine) -> None:
    """A completion supersedes a prewarm of its document."""
    scripted.play_next(Stall())
    async with peer(server) as one:
        await one.send("prewarm", id="warm", document="a.py", prefix="x = ")
        await until(lambda: scripted.live)
        await one.complete("1", document="a.py")
        assert (await one.answer("warm")).finish == "superseded"
        assert (await one.answer("1")).finish == "stop"


async def test_prewarm_never_supersedes(server: Server, scripted: ScriptedEngine) -> None:
    """A prewarm gives way to the completion that is live for its document."""
    scripted.play(Pause(0.1), "x = 1\n")
    async with peer(server) as one:
        await one.complete("1", document="a.py")
        await one.send("prewarm", id="warm", document="a.py", prefix="x = ")
        assert (await one.answer("warm")).finish == "superseded"
        assert (await one.answer("1")).finish == "stop"
    assert len(scripted.requests) == 1


async def test_candidates(server: Server, scripted: ScriptedEngine) -> None:
    """Candidates are distinct, the greedy one first and the only one that streams."""
    for text in ("a\n", "b\n", "a\n", ""):
        scripted.play_next(text)
    async with peer(server) as one:
        answer = await one.ask("1", "x = ", mode="line", candidates=4)
    assert answer.last["candidates"] == ["a", "b"]
    assert answer.text == answer.streamed == "a"
    greedy, *sampled = scripted.requests
    assert greedy.temperature == 0
    assert all(request.temperature > 0 for request in sampled)
    assert len({request.seed for request in sampled}) == 3
    assert len({request.id for request in scripted.requests}) == 4


async def test_candidates_at_deadline(server: Server, scripted: ScriptedEngine) -> None:
    """At the deadline the candidates that are whole are given, and the others dropped."""
    scripted.play_next("a\n")
    scripted.play_next("b", Stall())
    async with peer(server) as one:
        answer = await one.ask("1", "x = ", mode="line", candidates=2, deadline_ms=150)
        assert (answer.finish, answer.text) == ("deadline", "a")
        assert answer.last["candidates"] == ["a"]
        await until(lambda: not scripted.live)


async def test_priority_by_deadline(server: Server, scripted: ScriptedEngine) -> None:
    """What is due first is first in the engine's queue."""
    async with peer(server) as one:
        await one.ask("1", deadline_ms=5000)
        await one.ask("2", deadline_ms=300)
    late, soon = scripted.requests
    assert soon.priority < late.priority


async def test_output_limit(server: Server, scripted: ScriptedEngine) -> None:
    """A request may limit its output; a limit out of range is refused."""
    async with peer(server) as one:
        answer = await one.ask("1", max_tokens=2)
        assert (answer.finish, scripted.requests[-1].max_tokens) == ("length", 2)
        assert (await one.ask("2", max_tokens=0)).code == "invalid"
