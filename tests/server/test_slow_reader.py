"""A client that reads slowly, or not at all, costs bounded memory and nobody else's time."""

from __future__ import annotations

import asyncio

from codeserve.server.app import Server
from codeserve.server.connection import Connection
from tests.scripted_engine import ScriptedEngine, Stall
from tests.server.conftest import StartServer
from tests.server.peer import peer, until
from tests.server.raw import RawClient


def only_connection(server: Server) -> Connection:
    (connection,) = server._connections
    return connection


async def test_stopped_reader_is_dropped(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """A client that sends on and reads nothing is held up, then dropped, and what it asked for is aborted."""
    server = await start_server(send_seconds=0.5)
    scripted.play(Stall())
    raw = RawClient(server.port)
    await raw.open()
    try:
        connection = only_connection(server)
        await raw.send(type="complete", id="1", document="a", prefix="x", deadline_ms=60_000)
        await until(lambda: scripted.live)
        flood = asyncio.create_task(_flood(raw))
        most = 0
        async with asyncio.timeout(30):
            while scripted.live:
                most = max(most, len(connection._mailbox))
                await asyncio.sleep(0.01)
        assert 0 < most <= 66  # the mailbox's limit, the live request and the status
        async with asyncio.timeout(10):
            await asyncio.wait([flood])
        async with peer(server) as other:  # and it still serves
            assert await other.is_alive()
    finally:
        raw.close()


async def _flood(raw: RawClient) -> None:
    try:
        while True:
            await raw.send(type="nonsense " + "x" * 200, id="y" * 250)
    except OSError:
        pass


async def test_deltas_merge(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """What a client does not read is merged: one slot a request, whose text is complete in the end."""
    server = await start_server(send_seconds=20)
    full = asyncio.Event()
    scripted.play(full, "".join(f"    v{n} = {n}\n" for n in range(12)))
    raw = RawClient(server.port)
    await raw.open()
    try:
        connection = only_connection(server)
        await raw.send(type="complete", id="1", document="a", prefix="def f():\n", deadline_ms=60_000)
        flood = asyncio.create_task(_flood(raw))
        await until(lambda: len(connection._mailbox) >= 60)  # nothing gets out any more
        flood.cancel()
        full.set()
        await until(lambda: scripted.requests and not scripted.live)
        assert len(connection._mailbox) <= 66
        mine = await raw.messages("1")
        assert [message["type"] for message in mine] == ["delta", "done"]
        assert mine[0]["text"].startswith(mine[1]["text"])
        assert mine[1]["text"].count("\n") >= 10
    finally:
        raw.close()
    await until(lambda: not server._connections)
