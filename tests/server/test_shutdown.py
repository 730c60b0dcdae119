from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from pathlib import Path

import attrs
import pytest

from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.base import EngineState
from codeserve.errors import ConfigError, EngineStartError
from codeserve.server import context
from codeserve.server.app import Server
from codeserve.settings import ServerSettings
from tests.scripted_engine import Pause, ScriptedEngine, Stall
from tests.server.conftest import StartServer
from tests.server.peer import peer, started, until

AWAY = 1001


async def test_drain(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """Live requests end, new ones are refused, connections close with 1001, and the engine is closed last."""
    server = await start_server(drain_seconds=10)
    scripted.play(Pause(0.3), "x = 1\n")
    async with peer(server) as one:
        await started(one, scripted, "1")
        closing = asyncio.create_task(server.close())
        assert (await one.next())["state"] == "stopping"
        await one.complete("2")
        refused = await one.answer("2")
        assert (refused.code, "stopping" in refused.last["message"]) == ("unavailable", True)
        with pytest.raises(ConnectionRefusedError):
            async with peer(server):
                pass
        assert not scripted.closed
        assert (await one.answer("1")).text == "x = 1"
        assert await one.closed() == AWAY
        await closing
    assert scripted.closed


async def test_lever_that_does_not_end(
    start_server: StartServer, scripted: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile that waits for the engine, even when it is cancelled, does not keep the server from it."""
    pulled, ended = asyncio.Event(), asyncio.Event()

    async def administer(_: ScriptedEngine, lever: str, seconds: float) -> str:
        try:
            pulled.set()
            await asyncio.sleep(60)
        finally:
            await ended.wait()  # as for a profile to be written
        return lever

    monkeypatch.setattr(ScriptedEngine, "administer", administer)
    monkeypatch.setattr(context, "_SETTLE_SECONDS", 0.05)
    server = await start_server(token="ops secret admin")
    async with peer(server, greet=False) as one:
        await one.hello(token="secret")
        await one.send("admin", action="profile", id="a")
        await pulled.wait()
        async with asyncio.timeout(10):
            await server.close()
    assert scripted.closed
    ended.set()


async def test_drain_ends(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """What does not end within the time to drain gets an error before the connection closes."""
    server = await start_server(drain_seconds=0.1)
    scripted.play(Stall())
    async with peer(server) as one:
        await started(one, scripted, "1", deadline_ms=60_000)
        closing = asyncio.create_task(server.close())
        answer = await one.answer("1")
        assert (answer.code, answer.last["message"]) == ("unavailable", "the server is stopping")
        assert await one.closed() == AWAY
        await closing
    assert not scripted.live


async def test_close_twice(start_server: StartServer) -> None:
    """Closing again, or at the same time, waits for the same end."""
    server = await start_server()
    await asyncio.gather(server.close(), server.close())
    await server.close()


async def test_close_before_hello(start_server: StartServer) -> None:
    """A client that has not said hello does not hold the server up."""
    server = await start_server()
    async with peer(server, greet=False) as one:
        await until(lambda: server._connections)
        await server.close()
        assert await one.closed() == AWAY


async def test_shared_engine(scripted: ScriptedEngine, builder: PromptBuilder, tokenizer: Tokenizer) -> None:
    """An engine that belongs to somebody else is left running."""
    server = Server(ServerSettings(port=0), scripted, builder, tokenizer, owns_engine=False)
    await server.start()
    await server.close()
    assert scripted.state is EngineState.READY


async def test_port_taken(scripted: ScriptedEngine, builder: PromptBuilder, tokenizer: Tokenizer) -> None:
    """A port that is taken is one line that names it and says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = Server(ServerSettings(port=port), scripted, builder, tokenizer)
        with pytest.raises(ConfigError, match=f"port {port} on 127.0.0.1 is taken.*--port"):
            await server.run()
    assert scripted.closed


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
async def test_foreign_host(
    scripted: ScriptedEngine, builder: PromptBuilder, tokenizer: Tokenizer, host: str
) -> None:
    """A host that is not this machine's is one line that says so."""
    server = Server(ServerSettings(host=host, port=0, token="x"), scripted, builder, tokenizer)
    with pytest.raises(ConfigError, match=f"host {host} is no address of this machine"):
        await server.start()
    await server.close()


@pytest.mark.parametrize("later", [False, True])
async def test_run_ends_when_engine_fails(
    scripted: ScriptedEngine, builder: PromptBuilder, tokenizer: Tokenizer, later: bool
) -> None:
    """When the engine cannot be brought up, at once or after a crash, run ends with the reason."""
    if not later:
        scripted.start_error = EngineStartError("no memory")
    server = Server(ServerSettings(port=0), scripted, builder, tokenizer)
    running = asyncio.create_task(server.run())
    if later:
        await until(lambda: server._websockets)
        scripted.failure, scripted.state = "no memory", EngineState.FAILED
    with pytest.raises(EngineStartError, match="no memory"):
        async with asyncio.timeout(10):
            await running
    assert scripted.closed


@attrs.frozen
class Listening:
    """Where a server in another process listens, in place of a `Server`."""

    port: int


async def launch(drain_seconds: float) -> tuple[asyncio.subprocess.Process, Listening]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.server.serve_scripted",
        str(drain_seconds),
        cwd=Path(__file__).parents[2],
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    async with asyncio.timeout(30):
        async for line in process.stderr:
            event = json.loads(line)
            if event["event"] == "listening":
                return process, Listening(event["port"])
    raise AssertionError("the server did not start")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signal(number: signal.Signals) -> None:
    """A signal stops the server in good order, with exit code 0."""
    process, server = await launch(0.2)
    async with peer(server) as one:
        await one.complete("1", deadline_ms=60_000)
        assert (await one.next())["type"] == "delta"
        process.send_signal(number)
        assert (await one.answer("1")).code == "unavailable"
        assert await one.closed() == AWAY
    async with asyncio.timeout(10):
        assert await process.wait() == 0


async def test_second_signal() -> None:
    """A second signal does not wait for live requests."""
    process, server = await launch(600)
    async with peer(server) as one:
        await one.complete("1", deadline_ms=60_000)
        assert (await one.next())["type"] == "delta"
        process.terminate()
        assert (await one.next())["state"] == "stopping"
        process.terminate()
        assert (await one.answer("1")).code == "unavailable"
    async with asyncio.timeout(10):
        assert await process.wait() == 0
