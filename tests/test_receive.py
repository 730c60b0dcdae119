"""What a server that sends without end does to everything else."""

from __future__ import annotations

import asyncio

import pytest
from websockets.frames import Frame, Opcode

from codeserve import receive
from codeserve.client import Client, ClientState
from tests.scripted_server import Peer, ScriptedServer


def small(opcode: Opcode, count: int) -> bytes:
    """So many frames of a server."""
    return Frame(opcode, b"1" if opcode is Opcode.TEXT else b"").serialize(mask=False) * count


@pytest.mark.parametrize("opcode", [Opcode.PING, Opcode.PONG, Opcode.TEXT])
async def test_others_have_their_turn_between_small_frames(
    opcode: Opcode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames that came in at one go are told apart a few at a time, and then none is lost."""
    monkeypatch.setattr(receive, "SLICE_S", 0.0)
    count = 4_000

    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.receive("feedback")
        peer.connection.transport.write(small(opcode, count))
        await peer.send(type="status", state="sleeping", load=0.0)
        await peer.connection.wait_closed()

    turns, last = 0, asyncio.Event()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with ScriptedServer(script) as server:
        client = Client(
            server.url, on_status=lambda status: last.set() if status.state == "sleeping" else None
        )
        async with client, asyncio.timeout(20):
            await client.wait_ready()
            ticking = asyncio.create_task(others())
            client.feedback("1", "shown")
            await asyncio.sleep(0)
            turns = 0
            await last.wait()
            ticking.cancel()
    assert turns > 2 * count // receive.PIECE


@pytest.mark.parametrize("opcode", [Opcode.PING, Opcode.TEXT])
async def test_a_flood_ends_the_connection(opcode: Opcode) -> None:
    """More frames than any server has reason to send: the connection is dropped and the reason is told."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        while not peer.connection.transport.is_closing():
            peer.connection.transport.write(small(opcode, 2_000))
            await asyncio.sleep(0)

    flooded = asyncio.Event()

    def told(state: ClientState, reason: str) -> None:
        if state is ClientState.OFFLINE and "more messages than a client can read" in reason:
            flooded.set()

    async with ScriptedServer(script) as server, Client(server.url, on_state=told), asyncio.timeout(20):
        await flooded.wait()


async def test_what_came_before_the_end_counts() -> None:
    """A server that says a lot and is gone at once has said it."""
    seen, gone = 0, asyncio.Event()

    def told(_: object) -> None:
        nonlocal seen
        seen += 1

    def moved(state: ClientState, _: str) -> None:
        if state is ClientState.OFFLINE:
            gone.set()

    async def script(peer: Peer) -> None:
        await peer.welcome()
        for number in range(1_000):
            await peer.send(type="status", state="ready", load=number / 1_000)

    async with ScriptedServer(script) as server, Client(server.url, on_status=told, on_state=moved):
        async with asyncio.timeout(20):
            await gone.wait()
    assert seen == 1_000
