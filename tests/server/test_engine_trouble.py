from __future__ import annotations

import io

from codeserve.engine.base import EngineState
from codeserve.errors import EngineStartError
from codeserve.server.app import Server
from tests.scripted_engine import Crash, Fault, ScriptedEngine, Stall
from tests.server.conftest import StartServer
from tests.server.peer import peer, started, until


async def test_crash(server: Server, scripted: ScriptedEngine) -> None:
    """When the engine dies every live request gets unavailable, and later ones until it is back."""
    scripted.play_next(Stall())
    scripted.play_next("a = 1\n", Crash())
    async with peer(server) as one, peer(server) as two:
        await started(one, scripted, "1")
        crashed = await two.ask("2", mode="block")
        assert crashed.code == (await one.answer("1")).code == "unavailable"
        assert crashed.last["retry_after_ms"] == 700
        refused = await one.ask("3")
        assert refused.code == "unavailable"
        assert "restarting: the engine process died" in refused.last["message"]
        assert refused.last["retry_after_ms"] > 0
        scripted.state = EngineState.READY
        assert (await one.ask("4")).finish == "stop"


async def test_status_on_change(server: Server, scripted: ScriptedEngine) -> None:
    """Every client is told when the engine's state changes."""
    async with peer(server) as one, peer(server) as two:
        for state in (EngineState.RESTARTING, EngineState.READY):
            scripted.state = state
            for client in (one, two):
                message = await client.next()
                assert (message["type"], message["state"]) == ("status", state)


async def test_status_on_arrival(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """Who arrives while the engine is not ready is told so, and a request gets the stage it is in."""
    server = await start_server()
    scripted.state, scripted.retry_after_ms = EngineState.STARTING, 42_000
    server.progress("loading weights")
    async with peer(server, greet=False) as one:
        assert (await one.hello())["state"] == "starting"
        assert (await one.next())["state"] == "starting"
        refused = await one.ask("1")
        assert (refused.code, refused.last["retry_after_ms"]) == ("unavailable", 42_000)
        assert "starting: loading weights" in refused.last["message"]


async def test_start_fails(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """An engine that cannot be brought up leaves a server that says so."""
    scripted.start_error = EngineStartError("not enough memory: choose a smaller model")
    scripted.state = EngineState.STARTING
    server = await start_server()
    await until(lambda: scripted.state is EngineState.FAILED)
    async with peer(server) as one:
        refused = await one.ask("1")
    assert refused.code == "unavailable"
    assert "choose a smaller model" in refused.last["message"]


async def test_bug(server: Server, scripted: ScriptedEngine, logs: io.StringIO) -> None:
    """A bug fails its own request only, and the log says where without quoting what it choked on."""
    scripted.play_next("a", Fault("planted"))
    async with peer(server) as one:
        failed = await one.ask("1")
        assert failed.code == "internal"
        assert "planted" not in failed.last["message"]
        assert (await one.ask("2")).finish == "stop"
    assert "ValueError at scripted_engine.py" in logs.getvalue()
    assert "planted" not in logs.getvalue()


async def test_aborted_by_engine(server: Server, scripted: ScriptedEngine) -> None:
    """A request that the engine drops by itself is answered with unavailable."""
    scripted.play(Stall())
    async with peer(server) as one:
        await started(one, scripted, "1")
        await scripted.abort(scripted.requests[0].id)
        assert (await one.answer("1")).code == "unavailable"
