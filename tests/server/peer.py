"""A client that speaks the wire by hand, to send what the real one never would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import attrs
import orjson
from websockets.asyncio.client import ClientConnection, connect

from tests.scripted_engine import ScriptedEngine

__all__ = ["PATIENCE", "Answer", "Peer", "peer", "started", "until"]

PATIENCE = 10.0  # seconds that anything may take before a test fails


class HasPort(Protocol):
    """A server in this process or another."""

    @property
    def port(self) -> int: ...


@attrs.frozen
class Answer:
    """What a request brought: its deltas put together, and the message that ended it."""

    streamed: str
    last: dict[str, Any]

    @property
    def text(self) -> str:
        text: str = self.last["text"]
        return text

    @property
    def finish(self) -> str:
        finish: str = self.last["finish"]
        return finish

    @property
    def code(self) -> str:
        code: str = self.last["code"]
        return code


class Peer:
    """One connection."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, type: str, **fields: Any) -> None:
        """Send a message."""
        await self.raw(orjson.dumps({"type": type, **fields}).decode())

    async def raw(self, frame: str | bytes) -> None:
        """Send a frame as it is."""
        await self.socket.send(frame)

    async def next(self) -> dict[str, Any]:
        """The next message."""
        async with asyncio.timeout(PATIENCE):
            message: dict[str, Any] = orjson.loads(await self.socket.recv())
        return message

    async def hello(self, **fields: Any) -> dict[str, Any]:
        """Say hello; returns the answer."""
        await self.send("hello", **({"version": 1, "client": "test"} | fields))
        return await self.next()

    async def complete(self, id: str, prefix: str = "def f():\n    ", **fields: Any) -> None:
        """Ask for a completion, in a document of its own unless told otherwise."""
        await self.send(
            "complete", **({"id": id, "document": id, "prefix": prefix, "deadline_ms": 5000} | fields)
        )

    async def answer(self, id: str) -> Answer:
        """Read on until the request ``id`` has ended; other requests' messages are dropped."""
        streamed = ""
        while True:
            message = await self.next()
            if message.get("id") != id:
                continue
            if message["type"] != "delta":
                return Answer(streamed, message)
            streamed += message["text"]

    async def ask(self, id: str, prefix: str = "def f():\n    ", **fields: Any) -> Answer:
        """Ask for a completion and wait for it."""
        await self.complete(id, prefix, **fields)
        return await self.answer(id)

    async def is_alive(self) -> bool:
        """Whether the server still answers on this connection; reads everything up to the answer."""
        await self.send("no-such-type", id="alive?")
        return (await self.answer("alive?")).code == "unknown_type"

    async def closed(self) -> int | None:
        """Wait until the server closes the connection; returns the close code."""
        async with asyncio.timeout(PATIENCE):
            await self.socket.wait_closed()
        return self.socket.close_code


async def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    for _ in range(round(PATIENCE / 0.005)):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come true in time")


async def started(one: Peer, engine: ScriptedEngine, id: str, **fields: Any) -> None:
    """Send a `complete` and wait until the engine works on it."""
    before = len(engine.requests)
    await one.complete(id, **fields)
    await until(lambda: len(engine.requests) > before)


@asynccontextmanager
async def peer(server: HasPort, *, greet: bool = True, **options: Any) -> AsyncIterator[Peer]:
    """A connection to ``server``, after its hello unless told otherwise."""
    url = f"ws://127.0.0.1:{server.port}"
    async with connect(url, max_size=None, compression=None, proxy=None, **options) as socket:
        one = Peer(socket)
        if greet:
            assert (await one.hello())["type"] == "welcome"
        yield one
