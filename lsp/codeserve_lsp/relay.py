"""The connection to the server as the settings have it, and what the editor is told of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import attrs

from codeserve.client import Client, ClientState, CompletionHandle, ConfigError
from codeserve_lsp import __version__
from codeserve_lsp.clean import shown
from codeserve_lsp.complete import Request

__all__ = ["Event", "Relay", "Target"]

Event = Literal["shown", "accepted", "partially_accepted", "dismissed"]

# Leaving in good order is a matter of milliseconds with a server that is there.
LEAVE_S = 0.5

# What the wire takes as the key of a document; a longer URI (a data: one) goes by its digest.
MAX_KEY = 4_096


@attrs.frozen
class Target:
    """Where to connect and how; a change of any of it makes a new connection."""

    url: str
    token: str | None = attrs.field(default=None, repr=False)
    ca_file: str = ""
    kept: str = ""  # why there is no token, to be told when the server asks for one


class Relay:
    """Holds one client at a time. While it has none or it is offline, requests fail at once.

    ``on_change`` is called whenever `status` may have changed.
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._client: Client | None = None
        self._target: Target | None = None
        self._problem = "not connected yet"
        self._tasks: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def configure(self, target: Target | None, problem: str = "") -> bool:
        """Connect to ``target``, or to nothing because of ``problem``. False when that is so already."""
        if target == self._target and problem == self._problem:
            return False
        self._drop()
        self._target, self._problem = target, problem
        if target is not None:
            try:
                self._client = Client(
                    target.url,
                    token=target.token,
                    ca_file=Path(os.path.expanduser(target.ca_file)) if target.ca_file else None,
                    name=f"codeserve-lsp {__version__}",
                    on_state=lambda *_: self._on_change(),
                    on_status=lambda *_: self._on_change(),
                )
            except ConfigError as exc:
                self._problem = str(exc)
            else:
                self._task = asyncio.create_task(_hold(self._client), name="codeserve-relay")
                self._tasks.add(self._task)
                self._task.add_done_callback(self._tasks.discard)
        self._on_change()
        return True

    @property
    def reason(self) -> str:
        """Why no request is taken, in one line; "" when they are."""
        if self._client is None:
            return self._problem
        if self._client.state is not ClientState.READY:
            return self._client.reason or self._client.state.value
        return ""

    @property
    def snippet_tokens(self) -> int:
        """How much of other files the server puts into a prompt; 0 without a server."""
        welcome = self._client.welcome if self._client is not None else None
        if welcome is None:
            return 0
        told = welcome.limits.snippet_tokens
        return welcome.limits.context_tokens // 4 if told is None else told

    def status(self) -> dict[str, Any]:
        """The parameters of ``codeserve/status``."""
        client = self._client
        if client is None:
            return {"state": "misconfigured", "reason": shown(self._problem)}
        told = {"state": client.state.value, "reason": self.reason, "url": client.url}
        if client.state is ClientState.UNAUTHORIZED and self._target is not None and self._target.kept:
            told["reason"] = self._target.kept
        if client.welcome is not None:
            told["model"] = client.welcome.model
        engine = client.status
        if client.state is ClientState.READY and engine is not None and engine.state != "ready":
            told |= {"state": "loading", "reason": f"the server's model is {engine.state}"}
        # the server's words are in it: they may repeat the token, and a terminal would act on some
        token = self._target.token if self._target is not None else None
        if token:
            told = {name: value.replace(token, "…") for name, value in told.items()}
        return {name: shown(value) for name, value in told.items()}

    def complete(self, request: Request) -> CompletionHandle:
        """Raises: ValueError without a client; ask `reason` first."""
        seen = request.snapshot
        return self._ready().complete(
            document=_document(seen.uri),
            prefix=seen.prefix,
            suffix=seen.suffix,
            path=request.path,
            language=seen.language,
            snippets=request.snippets,
            deadline_ms=request.deadline_ms,
            mode=request.mode,
            candidates=request.candidates,
            min_confidence=request.min_confidence,
        )

    def prewarm(self, request: Request) -> None:
        """Have the server read what a completion here would make it read. Nothing waits for it."""
        seen = request.snapshot
        if not self.reason:
            self._ready().prewarm(
                document=_document(seen.uri),
                prefix=seen.prefix,
                suffix=seen.suffix,
                path=request.path,
                language=seen.language,
                snippets=request.snippets,
            )

    def feedback(self, id: str, event: Event, characters: int | None) -> None:
        """Tell what became of a completion; dropped while there is no connection."""
        if not self.reason:
            self._ready().feedback(id, event, characters)

    def _ready(self) -> Client:
        if self._client is None:
            raise ValueError(self._problem)
        return self._client

    def retry(self) -> None:
        """Try to connect now instead of later."""
        if self._client is not None:
            self._client.retry()

    async def close(self) -> None:
        """Disconnect and wait for it, as long as an editor that wants to end may be kept waiting."""
        self._drop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LEAVE_S)

    def _drop(self) -> None:
        self._client = None
        if self._task is not None:
            self._task.cancel()
            self._task = None


async def _hold(client: Client) -> None:
    """Keep a client connected until cancelled."""
    async with client:
        await asyncio.Event().wait()


def _document(uri: str) -> str:
    return (
        uri if len(uri) <= MAX_KEY else "sha256:" + sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()
    )
