"""What the language server sends along of other files, as it really does: it is started, and listened to.

A server of this process takes its requests and keeps the snippets in them; it answers none with text.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import orjson
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from codeserve.bench.quality.sources import Source
from codeserve.bench.rpc import Child
from codeserve.protocol import Snippet

__all__ = ["NEIGHBOURS", "Listener", "listening", "neighbours"]

NEIGHBOURS = 2  # other files of the package that are open in the editor
_TRIES, _PAUSE_S = 20, 0.1  # until the list of snippets, which is made in the background, is there

_WELCOME = {"type": "welcome", "version": 1, "model": "listener", "limits": {}}
_TIMINGS = {"queue_ms": 0.0, "ttft_ms": 0.0, "total_ms": 0.0}


class Listener:
    """A language server, and what it sends."""

    def __init__(self, child: Child, root: Path) -> None:
        self._child = child
        self._root = root
        self._opened: set[str] = set()
        self.sent: list[Snippet] = []  # with the latest request

    async def snippets(self, source: Source, others: Sequence[Source]) -> tuple[Snippet, ...]:
        """What goes along with a completion in ``source`` while ``others`` are open too; maybe nothing."""
        for other in others:
            self._open(other)
        uri = self._open(source)
        for attempt in range(_TRIES):
            self.sent = []
            reply = self._child.complete(uri, attempt, 0)  # elsewhere each time: the cache answers none
            await reply.wait(5)
            if self.sent:
                break
            await asyncio.sleep(_PAUSE_S)
        found = tuple(self.sent)
        for uri in list(self._opened):
            self._child.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        self._opened.clear()
        return found

    def _open(self, source: Source) -> str:
        uri = (self._root / source.path).as_uri()
        if uri not in self._opened:
            self._child.open(uri, source.text, source.language)
            self._opened.add(uri)
        return uri

    async def serve(self, connection: ServerConnection) -> None:
        """The server's side: welcome, then an empty answer to each request."""
        with contextlib.suppress(ConnectionClosed):
            await connection.recv()
            await connection.send(orjson.dumps(_WELCOME).decode())
            async for frame in connection:
                body = orjson.loads(frame)
                if body["type"] not in ("complete", "prewarm"):
                    continue
                if body["type"] == "complete":
                    self.sent = [Snippet(each["path"], each["text"]) for each in body.get("snippets", ())]
                finish = "no_suggestion" if body["type"] == "complete" else "prewarmed"
                done = {"type": "done", "id": body["id"], "text": "", "finish": finish}
                await connection.send(orjson.dumps(done | {"timings": _TIMINGS, "tokens": {}}).decode())


@contextlib.asynccontextmanager
async def listening(root: Path, project: Path) -> AsyncIterator[Listener]:
    """A language server whose workspace is ``project``; paths of sources are below ``root``."""
    async with Child() as child:
        listener = Listener(child, root)
        async with serve(listener.serve, "127.0.0.1", 0, close_timeout=0.1) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            settings = {"serverUrl": f"ws://127.0.0.1:{port}", "prewarm": False, "prefetch": "off"}
            await child.start(settings, folders=[project.as_uri()])
            await child.ready()
            yield listener


def neighbours(source: Source, sources: Sequence[Source]) -> list[Source]:
    """Other files of the same package that one may well have open: those nearest in the list of files."""
    family = [each for each in sources if each.package == source.package]
    place = family.index(source)
    near = sorted(range(len(family)), key=lambda other: abs(other - place))
    return [family[other] for other in near[1 : NEIGHBOURS + 1]]
