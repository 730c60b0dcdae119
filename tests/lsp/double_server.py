"""A server double for the completer: it does what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from codeserve.protocol import Done, Finish, Timings, Tokens
from codeserve_lsp.complete import Completer, Request
from codeserve_lsp.documents import Snapshot

__all__ = ["BUDGET", "URI", "Double", "DoubleServer", "at", "done", "make"]

URI = "file:///a.py"
BUDGET = 120  # milliseconds


def at(prefix: str, suffix: str = "", uri: str = URI) -> Snapshot:
    return Snapshot(uri, 1, "python", 0, 0, prefix, suffix)


def done(text: str, finish: Finish = Finish.STOP, candidates: list[str] | None = None) -> Done:
    return Done("1", text, finish, Timings(0, 1, 2), Tokens(output=7), candidates or [])


class Double:
    """A request under way, fed by the test: texts, then a `Done` or an exception."""

    def __init__(self, id: str, request: Request) -> None:
        self.id = id
        self.request = request
        self.total_ms: float | None = None
        self.cancelled = False
        self.queue: asyncio.Queue[str | Done | Exception] = asyncio.Queue()
        self._outcome: Done | Exception | None = None

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        item = await self.queue.get()
        if isinstance(item, str):
            return item
        self._outcome = item
        if isinstance(item, Exception):
            raise item
        raise StopAsyncIteration

    async def result(self) -> Done:
        assert isinstance(self._outcome, Done)
        return self._outcome

    def cancel(self) -> None:
        self.cancelled = True
        self.put(done("", Finish.CANCELLED))
        while not isinstance(self._outcome, Done):
            item = self.queue.get_nowait()
            self._outcome = None if isinstance(item, str) else item

    def put(self, *items: str | Done | Exception) -> None:
        for item in items:
            self.queue.put_nowait(item)


class DoubleServer:
    """Hands out doubles; ``script`` is put into each new one."""

    def __init__(self, *script: str | Done | Exception) -> None:
        self.reason = ""
        self.script = script
        self.handles: list[Double] = []

    def complete(self, request: Request) -> Double:
        self.handles.append(Double(str(len(self.handles) + 1), request))
        self.handles[-1].put(*self.script)
        return self.handles[-1]


def make(server: DoubleServer, *, budget_ms: int = 20_000) -> Completer:
    """A completer with time, so that a busy machine changes nothing; `BUDGET` to wait for the deadline."""
    return Completer(server, lambda snapshot: Request(snapshot, "a.py", []), budget_ms=budget_ms)
