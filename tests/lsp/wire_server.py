"""A server for the process under test: it says what the test wants, and remembers what it was sent."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from websockets.exceptions import ConnectionClosed

from tests.scripted_server import Peer, ScriptedServer, done

__all__ = ["WireServer"]


class WireServer:
    """Answers each completion with ``text``, in one delta after ``delay`` seconds. None: never."""

    def __init__(
        self,
        text: str | Callable[[dict[str, Any]], str | None] | None = "foo(bar)",
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.text = text
        self.delay = 0.0
        self.state = "ready"  # of the engine, when a client comes
        self.candidates: list[str] = []
        self.model = "scripted"
        self.limits: dict[str, int] = {}  # that the welcome tells
        self.error = ""  # with which each completion is refused, and its prefix behind it
        self.token: str | None = None  # what a hello must bring
        self.received: list[dict[str, Any]] = []
        self.hellos: list[dict[str, Any]] = []
        self.peers: list[Peer] = []
        self._tls = tls
        self._server = ScriptedServer(self._serve, tls=tls)
        self._arrived = asyncio.Event()

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        return self._server.url

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, exc, trace)

    async def stop(self) -> None:
        """Close the port and all connections."""
        await self._server.__aexit__(None, None, None)

    async def come_back(self) -> None:
        """Listen on the same port again."""
        self._server = ScriptedServer(self._serve, port=self._server.port, tls=self._tls)
        await self._server.__aenter__()

    async def wait_for(self, type: str, count: int = 1) -> list[dict[str, Any]]:
        """The messages of a type, once there are so many."""
        async with asyncio.timeout(10):
            while len(found := [body for body in self.received if body["type"] == type]) < count:
                self._arrived.clear()
                await self._arrived.wait()
        return found

    async def _serve(self, peer: Peer) -> None:
        tasks = set()
        try:
            hello = await peer.receive("hello")
            self.hellos.append(hello)
            if self.token is not None and hello.get("token") != self.token:
                await peer.send(type="error", code="unauthorized", message="the token is not valid")
                return
            await peer.send(type="welcome", version=1, model=self.model, limits=self.limits, state=self.state)
            self.peers.append(peer)
            while True:
                body = await peer.receive()
                self.received.append(body)
                self._arrived.set()
                if body["type"] in ("complete", "prewarm"):
                    # what is to be answered is settled now: a test may change it once the request has arrived
                    text = self.text(body) if callable(self.text) else self.text
                    task = asyncio.create_task(self._answer(peer, body, text))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
        except ConnectionClosed:
            return
        finally:
            for task in tasks:
                task.cancel()

    async def _answer(self, peer: Peer, body: dict[str, Any], text: str | None) -> None:
        if body["type"] == "prewarm":
            await peer.send(**done(body["id"], finish="prewarmed"))
        elif self.error:
            await peer.send(type="error", id=body["id"], code=self.error + body["prefix"], message="no")
        elif text is not None:
            await asyncio.sleep(self.delay)
            await peer.send(type="delta", id=body["id"], text=text)
            finish = "stop" if text else "no_suggestion"
            candidates = self.candidates if body["candidates"] > 1 else []
            await peer.send(**done(body["id"], text, finish), candidates=candidates)
