"""An editor as far as JSON-RPC goes: starts the real process and talks to it over its pipes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["INLINE", "ROOT", "Editor", "Failed"]

ROOT = Path(__file__).parents[2]

# The capabilities of an editor that knows inline completion.
INLINE = {"textDocument": {"inlineCompletion": {}}}


class Failed(Exception):
    """An error answer."""


class Editor:
    """One run of the server. ``answers`` are the editor's own to requests of the server, by method.

    While ``hold`` is set it gives none: the ids are in ``held``, for `reply`.
    """

    def __init__(self, *, settings: Any = None, arguments: tuple[str, ...] = (), **environ: str) -> None:
        self.settings = settings
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self.capabilities: dict[str, Any] = {}
        self.notes: list[tuple[str, Any]] = []  # notifications of the server
        self.asked: list[str] = []  # requests of the server
        self.hold = False
        self.held: list[Any] = []
        self.uri = ""
        self._arguments = arguments
        self._environ = environ
        self._ids = itertools.count(1)
        self._waiting: dict[int | None, asyncio.Future[Any]] = {}
        self._changed = asyncio.Event()
        self._version = 1

    async def __aenter__(self) -> Self:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("CODESERVE_")}
        paths = [str(ROOT), str(ROOT / "lsp"), environ.get("PYTHONPATH", "")]
        environ |= {"PYTHONPATH": os.pathsep.join(filter(None, paths)), **self._environ}
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "codeserve_lsp.cli", "--stdio", *self._arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environ,
            limit=1 << 24,
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
        assert stdout is not None
        while header := await stdout.readline():
            assert header.startswith(b"Content-Length: "), header  # nothing else is ever printed there
            length = int(header.split(b":")[1])
            while (await stdout.readline()).strip():
                pass
            self._take(json.loads(await stdout.readexactly(length)))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            waiting = self._waiting.pop(message["id"])  # a second answer raises here
            if waiting.done():
                return
            if "error" in message:
                waiting.set_exception(Failed(message["error"]))
            else:
                waiting.set_result(message["result"])
        elif "id" in message:
            self.asked.append(message["method"])
            if self.hold:
                self.held.append(message["id"])
                self._changed.set()
                return
            answer = self.answers.get(message["method"], lambda _: None)(message["params"])
            self.reply(message["id"], answer)
        else:
            self.notes.append((message["method"], message["params"]))
            self._changed.set()

    def _send(self, body: dict[str, Any]) -> None:
        raw = json.dumps({"jsonrpc": "2.0", **body}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))

    def reply(self, id: Any, result: Any) -> None:
        """Answer a request of the server."""
        self._send({"id": id, "result": result})

    async def wait_held(self, count: int) -> list[Any]:
        """The ids of requests of the server that wait for their answers, once there are so many."""
        async with asyncio.timeout(10):
            while len(self.held) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.held

    def start_with(self, id: Any, method: str) -> asyncio.Future[Any]:
        """Send a request with an id that can be none: a future of the answer, which has no id."""
        self._waiting[None] = asyncio.get_running_loop().create_future()
        self._send({"id": id, "method": method, "params": None})
        return self._waiting[None]

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def start(self, method: str, params: Any) -> tuple[int, asyncio.Future[Any]]:
        """Send a request: its id, and a future of its answer."""
        id = next(self._ids)
        self._waiting[id] = asyncio.get_running_loop().create_future()
        self._send({"id": id, "method": method, "params": params})
        return id, self._waiting[id]

    async def ask(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for its answer. Raises: Failed."""
        async with asyncio.timeout(20):
            return await self.start(method, params)[1]

    async def initialize(
        self,
        capabilities: dict[str, Any] | None = None,
        folders: list[Path] | None = None,
        root: Path | None = None,
    ) -> dict[str, Any]:
        """Say hello; ``root`` as an editor that knows one folder only. Gives the server's capabilities."""
        given = await self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root.as_uri() if root is not None else None,
                "capabilities": INLINE if capabilities is None else capabilities,
                "workspaceFolders": [{"uri": each.as_uri(), "name": each.name} for each in folders or []],
                "initializationOptions": self.settings,
            },
        )
        self.capabilities = given["capabilities"]
        self.notify("initialized", {})
        return self.capabilities

    async def status(self, state: str) -> dict[str, Any]:
        """Wait for a status notification with this state, unless the last one has it."""
        async with asyncio.timeout(20):
            while True:
                told: list[dict[str, Any]] = [body for name, body in self.notes if name == "codeserve/status"]
                if told and told[-1]["state"] == state:
                    return told[-1]
                self._changed.clear()
                await self._changed.wait()

    def open(self, text: str = "", uri: str = "untitled:a.py", language: str = "python") -> None:
        self.uri = uri
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, line: int, character: int, text: str, *, delete: int = 0) -> None:
        """Put in ``text`` in place of ``delete`` characters."""
        self.replace((line, character), (line, character + delete), text)

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Put in ``text`` in place of what is between two positions."""
        self._version += 1
        span = {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        }
        self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.uri, "version": self._version},
                "contentChanges": [{"range": span, "text": text}],
            },
        )

    def start_inline(self, line: int, character: int, **context: Any) -> tuple[int, asyncio.Future[Any]]:
        return self.start(
            "textDocument/inlineCompletion",
            {
                "textDocument": {"uri": self.uri},
                "position": {"line": line, "character": character},
                "context": {"triggerKind": 2, **context},
            },
        )

    async def inline(self, line: int, character: int, **context: Any) -> list[dict[str, Any]]:
        """The items for a cursor."""
        async with asyncio.timeout(20):
            answer = await self.start_inline(line, character, **context)[1]
        items: list[dict[str, Any]] = answer["items"]
        return items

    async def texts(self, line: int, character: int, **context: Any) -> list[str]:
        """The texts for a cursor."""
        return [item["insertText"] for item in await self.inline(line, character, **context)]

    async def timed(self, line: int, character: int) -> tuple[list[str], float]:
        """The texts for a cursor, and the milliseconds they took."""
        started = time.perf_counter()
        texts = await self.texts(line, character)
        return texts, (time.perf_counter() - started) * 1000

    async def quit(self) -> int | None:
        """Shut down in good order. Gives the exit status."""
        await self.ask("shutdown")
        self.notify("exit", None)
        async with asyncio.timeout(10):
            return await self.process.wait()
