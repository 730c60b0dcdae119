"""A server for benchmarks of its clients: quick, or one that stalls, dies and comes back at random."""

from __future__ import annotations

import asyncio
import random
import time
from types import TracebackType
from typing import Any, Self

import orjson
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

__all__ = ["FickleServer"]

_WELCOME = {"type": "welcome", "version": 1, "model": "fickle", "limits": {}}
_TEXT = "value = compute(first, second)\n    return value"


class FickleServer:
    """Answers every request at once; with ``trouble`` from 0 to 1 that share of them comes to grief.

    With ``loss`` that share of requests costs the connection, every second time the whole server for a while.
    """

    def __init__(self, *, trouble: float = 0.0, loss: float = 0.0, seed: int = 0) -> None:
        self.trouble = trouble
        self.loss = loss
        self.times: list[float] = []  # milliseconds from a request's arrival until its answer was to be sent
        self.losses = 0
        self.snippets = 0  # that came with the last completion
        self.port = 0
        self._random = random.Random(seed)
        self._server: Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._close()

    async def _listen(self) -> None:
        self._server = await serve(self._serve, "127.0.0.1", self.port, close_timeout=0.1)
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def _close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            for connection in list(server.connections):
                connection.transport.abort()
            server.close()
            await server.wait_closed()

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: ServerConnection) -> None:
        try:
            await connection.recv()
            if self._random.random() < self.trouble / 4:
                await asyncio.sleep(self._random.random())  # a welcome that takes its time
            await connection.send(orjson.dumps(_WELCOME).decode())
            async for frame in connection:
                arrived = time.perf_counter()
                body = orjson.loads(frame)
                if body["type"] == "complete":
                    self.snippets = len(body["snippets"])
                    self._spawn(self._answer(connection, body["id"], arrived))
                if self._random.random() < self.trouble / 50:
                    await asyncio.sleep(self._random.random())  # reads nothing for a while
        except ConnectionClosed:
            return

    async def _answer(self, connection: ServerConnection, id: str, arrived: float) -> None:
        try:
            if self._random.random() < self.loss:
                await self._lose(connection)
            elif self._random.random() < self.trouble:
                await self._trouble(connection, id)
            else:
                await self._done(connection, id, arrived)
        except ConnectionClosed:
            return

    async def _send(self, connection: ServerConnection, **body: Any) -> None:
        if not connection.transport.is_closing():
            await connection.send(orjson.dumps(body).decode())

    async def _delta(self, connection: ServerConnection, id: str, text: str) -> None:
        await self._send(connection, type="delta", id=id, text=text)

    async def _done(self, connection: ServerConnection, id: str, arrived: float) -> None:
        await self._delta(connection, id, _TEXT)
        self.times.append((time.perf_counter() - arrived) * 1000)
        timings = {"queue_ms": 0.0, "ttft_ms": 0.0, "total_ms": 0.0}
        await self._send(
            connection, type="done", id=id, text=_TEXT, finish="stop", timings=timings, tokens={}
        )

    async def _trouble(self, connection: ServerConnection, id: str) -> None:
        kind = self._random.randrange(36)
        if kind < 12:  # slow, often too slow
            await asyncio.sleep(self._random.uniform(0.1, 1.0))
            await self._done(connection, id, time.perf_counter())
        elif kind < 20:  # some of the text, then nothing
            await self._delta(connection, id, _TEXT[: self._random.randrange(len(_TEXT))])
        elif kind < 26:
            await self._send(connection, type="error", id=id, code="overloaded", message="too much to do")
        elif kind < 30:  # nonsense
            junk = ["", "[]", '{"type": "done"}', f'{{"type":"delta","id":"{id}","text":7}}', "\ud7ff" * 100]
            if not connection.transport.is_closing():
                await connection.send(self._random.choice(junk))
        # else: never

    async def _lose(self, connection: ServerConnection) -> None:
        self.losses += 1
        if self.losses % 2 or self._server is None:
            connection.transport.abort()
            return
        await self._close()
        await asyncio.sleep(self._random.uniform(0.0, 2.0))
        await self._listen()
