"""A language server as a child process, spoken to in JSON-RPC over its pipes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import orjson

__all__ = ["Child", "Reply"]


class Reply:
    """The answer to one request. ``ms`` is what it took, from before it was written until it was read."""

    def __init__(self) -> None:
        self.result: Any = None
        self.failed = False
        self.ms = 0.0
        self.arrived = asyncio.Event()
        self._sent = time.perf_counter()

    def take(self, message: dict[str, Any]) -> None:
        self.ms = (time.perf_counter() - self._sent) * 1000
        self.failed = "error" in message
        self.result = message.get("result")
        self.arrived.set()

    async def wait(self, seconds: float) -> bool:
        """False when there is no answer within ``seconds``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.arrived.wait()
        return self.arrived.is_set()


class Child:
    """`codeserve_lsp` in a process of its own, with one open document a URI."""

    def __init__(self) -> None:
        self.state = ""  # as `codeserve/status` told it last
        self.toasts = 0
        self.extra_answers = 0  # to requests that had one already
        self._ids = itertools.count(1)
        self._waiting: dict[int, Reply] = {}
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "codeserve_lsp.cli", "--stdio", "--log-level", "error"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        await self.process.wait()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        stdout = self.process.stdout
        if stdout is None:
            return
        while header := await stdout.readline():
            length = int(header.split(b":")[1])
            while (await stdout.readline()).strip():
                pass
            self._take(orjson.loads(await stdout.readexactly(length)))

    def _take(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            reply = self._waiting.pop(message["id"], None)
            if reply is None:
                self.extra_answers += 1
            else:
                reply.take(message)
        elif method == "codeserve/status":
            self.state = message["params"]["state"]
            self._changed.set()
        elif method == "window/showMessage":
            self.toasts += 1

    def _send(self, body: dict[str, Any]) -> None:
        raw = orjson.dumps({"jsonrpc": "2.0", **body})
        if self.process.stdin is not None:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> Reply:
        id = next(self._ids)
        reply = self._waiting[id] = Reply()
        self._send({"id": id, "method": method, "params": params})
        return reply

    async def start(self, settings: dict[str, Any], *, folders: Sequence[str] = ()) -> float:
        """Initialize, with the URIs of the workspace's folders. Gives the milliseconds until the answer."""
        reply = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": None,
                "workspaceFolders": [{"uri": uri, "name": uri} for uri in folders] or None,
                "capabilities": {"textDocument": {"inlineCompletion": {}}},
                "initializationOptions": settings,
            },
        )
        ended = asyncio.create_task(self.process.wait())
        answered = asyncio.create_task(reply.wait(30))
        await asyncio.wait({ended, answered}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        self.notify("initialized", {})
        return reply.ms

    async def ready(self) -> None:
        """Wait until it is connected. Raises: TimeoutError, RuntimeError when the process has ended."""
        async with asyncio.timeout(30):
            while self.state != "ready":
                if self._reader.done():
                    raise RuntimeError("the language server has ended")
                self._changed.clear()
                await self._changed.wait()

    def open(self, uri: str, text: str, language: str = "python") -> None:
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def type(self, uri: str, version: int, line: int, character: int, text: str) -> None:
        here = {"line": line, "character": character}
        change = {"range": {"start": here, "end": here}, "text": text}
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def complete(self, uri: str, line: int, character: int) -> Reply:
        return self.request(
            "textDocument/inlineCompletion",
            {
                "textDocument": {"uri": uri},
                "position": {"line": line, "character": character},
                "context": {"triggerKind": 2},
            },
        )
