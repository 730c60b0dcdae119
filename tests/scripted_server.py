"""A real WebSocket server that does as the test says: what the real one cannot be made to do."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve

__all__ = ["Peer", "ScriptedServer", "done"]


def done(id: str, text: str = "", finish: str = "stop") -> dict[str, Any]:
    """The body of a `done` message."""
    return {
        "type": "done",
        "id": id,
        "text": text,
        "finish": finish,
        "timings": {"queue_ms": 0.5, "ttft_ms": 5.0, "total_ms": 9.0},
        "tokens": {"prompt": 100, "cached": 90, "output": 4},
    }


class Peer:
    """One client as the script sees it."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection

    async def send(self, **body: Any) -> None:
        await self.connection.send(json.dumps(body))

    async def receive(self, type: str | None = None) -> dict[str, Any]:
        """The next message, or the next of this type."""
        while True:
            body: dict[str, Any] = json.loads(await self.connection.recv())
            if type is None or body["type"] == type:
                return body

    async def welcome(self, **limits: int) -> dict[str, Any]:
        """Take the hello and welcome the client."""
        hello = await self.receive("hello")
        await self.send(type="welcome", version=1, model="scripted", limits=limits)
        return hello


class ScriptedServer:
    """Runs ``script(peer)`` for each connection; ``connections`` counts them."""

    def __init__(
        self, script: Callable[[Peer], Awaitable[None]], *, port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self._script = script
        self._tls = tls
        self._server: Server | None = None
        self.port = port
        self.connections = 0
        self.peers: asyncio.Queue[Peer] = asyncio.Queue()

    @property
    def url(self) -> str:
        return f"{'wss' if self._tls else 'ws'}://127.0.0.1:{self.port}"

    async def _handle(self, connection: ServerConnection) -> None:
        self.connections += 1
        peer = Peer(connection)
        self.peers.put_nowait(peer)
        await self._script(peer)

    async def __aenter__(self) -> Self:
        self._server = await serve(self._handle, "127.0.0.1", self.port, ssl=self._tls, close_timeout=0.2)
        self.port = next(iter(self._server.sockets)).getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
