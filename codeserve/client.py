"""The async client of a codeserve server: it stays connected, and each request gets exactly one outcome.

::

    async with Client("ws://127.0.0.1:8760") as client:
        await client.wait_ready()
        handle = client.complete(document="file:///a.py", prefix="def add(a, b):\\n    ", mode="line")
        async for text in handle:
            print(text, end="")
        done = await handle.result()

All methods run on one event loop; none is thread-safe. Nothing here imports an engine or a tokenizer.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from codeserve.connection import Backoff, ConnectFailed, Endpoint, is_loopback
from codeserve.errors import CodeserveError, ConfigError, RequestError
from codeserve.fit import fit
from codeserve.handle import CompletionHandle
from codeserve.inflight import Inflight
from codeserve.link import ClientState, Link, shielded
from codeserve.protocol import (
    MAX_DEADLINE_MS,
    Cancel,
    Complete,
    Delta,
    Done,
    Error,
    ErrorCode,
    Feedback,
    Finish,
    Mode,
    Prewarm,
    ProtocolError,
    Snippet,
    Status,
    Welcome,
)
from codeserve.regular import open_regular, read_regular
from codeserve.wire import decode_server, encode

__all__ = [
    "DEFAULT_URL",
    "Client",
    "ClientState",
    "CodeserveError",
    "CompletionHandle",
    "ConfigError",
    "ConnectFailed",
    "RequestError",
    "is_loopback",
    "open_regular",
    "read_regular",
]

DEFAULT_URL = "ws://127.0.0.1:8760"

# A request that the server leaves unanswered this long after its deadline ends here with an error.
GRACE_MS = 2_000

_log = logging.getLogger(__name__)


class Client:
    """A connection to one server that is brought up again whenever it is lost.

    ``on_state(state, reason)`` is called on each change, ``on_status(status)`` with what the server says of
    its engine. ``grace_ms`` is how long after a request's deadline the client waits for the server's answer.
    Raises: ConfigError for a URL or CA file that cannot work.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str | None = None,
        ca_file: Path | None = None,
        name: str = "",
        on_state: Callable[[ClientState, str], None] | None = None,
        on_status: Callable[[Status], None] | None = None,
        backoff: Backoff | None = None,
        grace_ms: int = GRACE_MS,
    ) -> None:
        self._link = Link(
            Endpoint(url, token=token, ca_file=ca_file, name=name),
            on_frame=self._receive,
            on_state=self._moved,
            backoff=backoff or Backoff(),
        )
        self._on_state = on_state
        self._on_status = on_status
        self._grace_ms = grace_ms
        self._ids = itertools.count(1)
        self._inflight = Inflight()
        self._task: asyncio.Task[None] | None = None
        self.status: Status | None = None
        """What the server said last about its engine; None without a connection."""

    @property
    def url(self) -> str:
        """The address, without a user or password."""
        return self._link.endpoint.shown

    @property
    def state(self) -> ClientState:
        return self._link.state

    @property
    def reason(self) -> str:
        """Why requests are not taken, in one line; empty when they are."""
        return self._link.reason

    @property
    def welcome(self) -> Welcome | None:
        """The server's last welcome (model, limits), kept while offline."""
        return self._link.welcome

    async def __aenter__(self) -> Self:
        """Start connecting; does not wait for it (`wait_ready` does)."""
        self._task = asyncio.create_task(self._link.run(), name="codeserve-client")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; requests under way fail. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._link.closed()

    async def wait_ready(self) -> Welcome:
        """Wait for the attempt at hand. Raises: ConnectFailed with the reason when it comes to nothing."""
        return await self._link.wait_ready()

    def retry(self) -> None:
        """Try to connect now instead of later: after a refused token, or when the user asks."""
        self._link.retry()

    def complete(
        self,
        *,
        document: str,
        prefix: str,
        suffix: str = "",
        path: str = "",
        language: str = "",
        snippets: Iterable[Snippet] = (),
        deadline_ms: int = 300,
        mode: Mode = "auto",
        candidates: int = 1,
        max_tokens: int | None = None,
        min_confidence: float | None = None,
    ) -> CompletionHandle:
        """Ask for a completion; never waits. An older request for ``document`` ends at once, superseded.

        What does not fit the server's limits is cut (`codeserve.fit`).
        Raises: ValueError for a field out of range.
        """
        request = Complete(
            id=str(next(self._ids)),
            document=document,
            prefix=prefix,
            suffix=suffix,
            path=path,
            language=language,
            snippets=list(snippets),
            deadline_ms=deadline_ms,
            mode=mode,
            candidates=candidates,
            max_tokens=max_tokens,
            min_confidence=min_confidence,
        )
        older = self._supersede(Complete, document) + self._supersede(Prewarm, document)
        return self._request(request, deadline_ms, older)

    def prewarm(
        self,
        *,
        document: str,
        prefix: str,
        suffix: str = "",
        path: str = "",
        language: str = "",
        snippets: Iterable[Snippet] = (),
    ) -> CompletionHandle:
        """Fill the server's cache for a completion that may follow; its result has finish ``prewarmed``.

        It gives way to any completion, so it may take long. A newer request for ``document`` ends it.
        """
        request = Prewarm(
            id=str(next(self._ids)),
            document=document,
            prefix=prefix,
            suffix=suffix,
            path=path,
            language=language,
            snippets=list(snippets),
        )
        older = self._supersede(Prewarm, document)
        return self._request(request, MAX_DEADLINE_MS, older)

    def feedback(
        self,
        completion: CompletionHandle | str,
        event: Literal["shown", "accepted", "partially_accepted", "dismissed"],
        characters: int | None = None,
    ) -> None:
        """Say what became of a completion (its handle or id). Dropped while there is no connection."""
        id = completion if isinstance(completion, str) else completion.id
        self._link.post(f"feedback {id} {event}", encode(Feedback(id=id, event=event, characters=characters)))

    def _request(self, request: Complete | Prewarm, wait_ms: int, older: tuple[str, ...]) -> CompletionHandle:
        handle = CompletionHandle(request, self._cancelled, older)
        failure = self._send(request)
        if failure is not None:
            handle.end(failure)
            for id in older:  # the server does not hear of their end by this one
                self._link.post(f"cancel {id}", encode(Cancel(id=id)))
            return handle
        wait_s = (wait_ms + self._grace_ms) / 1000
        self._inflight.add(type(request), handle, wait_s, lambda: self._overdue(handle, wait_s))
        return handle

    def _send(self, request: Complete | Prewarm) -> RequestError | None:
        if self.state is not ClientState.READY or self.welcome is None:
            refused = self.state is ClientState.UNAUTHORIZED
            return RequestError(ErrorCode.UNAUTHORIZED if refused else ErrorCode.UNAVAILABLE, self.reason)
        try:
            frame = fit(request, self.welcome.limits)
        except RequestError as exc:
            return exc
        if not self._link.post(request.id, frame):
            return RequestError(ErrorCode.OVERLOADED, f"{self.url} does not keep up with the requests")
        return None

    def _supersede(self, kind: type, document: str) -> tuple[str, ...]:
        """End the request of this kind; returns the ids of whose end the server hears by the newer one."""
        handle = self._inflight.latest(kind, document)
        if handle is None:
            return ()
        self._inflight.remove(handle)
        unsent = self._link.take_back(handle.id)
        handle.end_here(Finish.SUPERSEDED)
        return handle.older if unsent else (handle.id,)

    def _cancelled(self, handle: CompletionHandle) -> None:
        if not handle.ended:
            self._withdraw(handle)
            handle.end_here(Finish.CANCELLED)

    def _overdue(self, handle: CompletionHandle, wait_s: float) -> None:
        self._withdraw(handle)
        message = f"{self.url} did not answer the request within {wait_s:.1f} s"
        handle.end(RequestError(ErrorCode.UNAVAILABLE, message))

    def _withdraw(self, handle: CompletionHandle) -> None:
        """Take a request back: an unsent one never leaves, of another the server is told."""
        self._inflight.remove(handle)
        for id in handle.older if self._link.take_back(handle.id) else (handle.id,):
            self._link.post(f"cancel {id}", encode(Cancel(id=id)))

    def _receive(self, frame: str | bytes) -> None:
        try:
            message = decode_server(frame)
        except ProtocolError as exc:
            _log.debug("ignored a frame: %s", exc.code)  # not what it was: source code may be in it
            if exc.code is ErrorCode.UNKNOWN_TYPE:
                return  # a newer server has more to say than this client understands
            unread = f"the server's answer cannot be read ({exc})"
            self._finish(exc.id, RequestError(ErrorCode.INTERNAL, unread))
            return
        if isinstance(message, Delta):
            handle = self._inflight.get(message.id)
            if handle is not None:
                handle.feed(message.text)
        elif isinstance(message, Done):
            self._finish(message.id, message)
        elif isinstance(message, Error):
            failure = RequestError(message.code, message.message, retry_after_ms=message.retry_after_ms)
            self._finish(message.id, failure)
        elif isinstance(message, Status):
            self.status = message
            shielded(self._on_status, message)

    def _finish(self, id: str | None, outcome: Done | RequestError) -> None:
        handle = self._inflight.get(id)
        if handle is not None:  # else it has ended here already
            self._inflight.remove(handle)
            handle.end(outcome)

    def _moved(self, state: ClientState, reason: str) -> None:
        if state is ClientState.READY and self.welcome is not None:
            # known before anyone hears of the connection: it would pass for one that takes requests
            self.status = Status(self.welcome.state)
        else:
            self.status = None
            for handle in self._inflight.clear():
                handle.end(RequestError(ErrorCode.UNAVAILABLE, reason))
        shielded(self._on_state, state, reason)
