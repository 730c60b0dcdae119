"""The client's link: what a server that sends without end does to everything else."""

from __future__ import annotations

import asyncio

import pytest

from codeserve import link
from codeserve.client import Client, ClientState
from codeserve.protocol import Status
from tests.scripted_server import Peer, ScriptedServer


async def test_others_have_their_turn_between_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many frames that are there at once do not keep the event loop until the last of them."""
    monkeypatch.setattr(link, "SLICE_S", 0.0)
    count, turns = 300, 0
    seen: list[int] = []
    last = asyncio.Event()

    def told(status: Status) -> None:
        seen.append(turns)
        if len(seen) == count:
            last.set()

    async def script(peer: Peer) -> None:
        await peer.welcome()
        for number in range(count):
            await peer.send(type="status", state="ready", load=number / count)
        await peer.connection.wait_closed()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with ScriptedServer(script) as server, Client(server.url, on_status=told) as client:
        await client.wait_ready()
        ticking = asyncio.create_task(others())
        async with asyncio.timeout(20):
            await last.wait()
        ticking.cancel()
    assert len(set(seen)) > count // 2


async def test_a_servers_last_words_are_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    """That a server closes the connection is told by its code: the token or source may be in its words."""
    caplog.set_level("DEBUG", "codeserve")

    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.connection.close(1011, "sour_ce")

    shown, reasons = asyncio.Event(), list[str]()

    def told(_: ClientState, reason: str) -> None:
        reasons.append(reason)
        if "close code 1011" in reason:
            shown.set()

    async with ScriptedServer(script) as server, Client(server.url, on_state=told), asyncio.timeout(20):
        await shown.wait()
    assert "close code 1011" in caplog.text
    assert "sour_ce" not in caplog.text + "".join(reasons)
