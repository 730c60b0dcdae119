from __future__ import annotations

import pytest

from codeserve.server.app import Server
from tests.scripted_engine import Pause, ScriptedEngine, Stall
from tests.server.peer import peer, until


async def test_stalled_engine(server: Server, scripted: ScriptedEngine) -> None:
    """At the deadline what is whole is sent, though the engine says nothing, and it is aborted."""
    scripted.play("a = 1\n    b = 2\n    c", Stall())
    async with peer(server) as one:
        answer = await one.ask("1", deadline_ms=200)
        assert answer.finish == "deadline"
        assert answer.text == "a = 1\n    b = 2"
        assert answer.streamed.startswith(answer.text)
        # A little before, for the way to the client; and not after the next token, which never comes.
        assert answer.last["timings"]["total_ms"] >= 180
        await until(lambda: not scripted.live)
    assert scripted.aborted == [scripted.requests[0].id]


async def test_nothing_whole(server: Server, scripted: ScriptedEngine) -> None:
    """When no line is whole at the deadline, the text is empty and finish still says deadline."""
    scripted.play("a = ", Stall())
    async with peer(server) as one:
        answer = await one.ask("1", deadline_ms=100)
    assert (answer.text, answer.finish) == ("", "deadline")


async def test_no_token(server: Server, scripted: ScriptedEngine) -> None:
    """Without any token there is no time to first token, and all the time was spent waiting."""
    scripted.play(Stall())
    async with peer(server) as one:
        answer = await one.ask("1", deadline_ms=100)
    timings = answer.last["timings"]
    assert timings["ttft_ms"] is None
    assert timings["queue_ms"] == pytest.approx(timings["total_ms"], abs=5)
    assert answer.last["tokens"]["output"] == 0


async def test_one_millisecond(server: Server, scripted: ScriptedEngine) -> None:
    """A deadline that has passed before the prompt is built is answered all the same."""
    scripted.play(Pause(1), "x\n")
    async with peer(server) as one:
        answer = await one.ask("1", "x = 1\n" * 5000, deadline_ms=1)
        assert (answer.text, answer.finish) == ("", "deadline")
        assert await one.is_alive()


async def test_slow_pace(server: Server, scripted: ScriptedEngine) -> None:
    """Of an engine that is slower than the deadline the client gets the lines that were whole by then."""
    scripted.pace = 0.02
    scripted.play("a = 1\n" + "    b = 2\n" * 30)
    async with peer(server) as one:
        answer = await one.ask("1", deadline_ms=300)
    assert answer.finish == "deadline"
    assert answer.text.startswith("a = 1")
    assert answer.text.splitlines() == ["a = 1"] + ["    b = 2"] * (len(answer.text.splitlines()) - 1)


@pytest.mark.parametrize("deadline", [0, -1, 60_001, 1.5, "300", None])
async def test_bad_deadline(server: Server, deadline: object) -> None:
    """A deadline out of range or of the wrong type is refused by name."""
    async with peer(server) as one:
        answer = await one.ask("1", deadline_ms=deadline)
    assert answer.code == "invalid"
    assert "deadline_ms" in answer.last["message"]


async def test_large_text_in_a_thread(server: Server, scripted: ScriptedEngine) -> None:
    """A deadline holds while a huge prompt is built, and the engine is not asked in vain."""
    async with peer(server) as one:
        answer = await one.ask("1", "x = 1\n" * 100_000, deadline_ms=1)
        assert answer.finish == "deadline"
        assert (await one.ask("2", "x = 1\n" * 100_000)).finish == "stop"
    assert len(scripted.requests) == 1
