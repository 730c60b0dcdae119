"""The client's link to its server: connected whenever it can be, with a bounded queue of frames to send."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from enum import StrEnum

from websockets.exceptions import ConnectionClosed

from codeserve.connection import Backoff, ConnectFailed, Endpoint, ended
from codeserve.protocol import Welcome
from codeserve.receive import Receiver

__all__ = ["ClientState", "Link", "shielded"]

# Frames that wait for a server which does not read; beyond them `Link.post` refuses.
MAX_UNSENT = 256
# Frames are handled for so long at a stretch: a server that sends without end must not stop the clock here.
SLICE_S = 0.002
# A connection that lasted this long was a good one: its loss is followed by a retry at once.
STABLE_S = 10.0

_log = logging.getLogger(__name__)


def shielded(callback: Callable[..., None] | None, *args: object) -> None:
    """Call what may be there; its failure must not take the connection down with it."""
    if callback is not None:
        try:
            callback(*args)
        except Exception:
            _log.exception("a callback of the client failed")


class ClientState(StrEnum):
    """Where a client stands. Requests are taken in ``READY`` only; elsewhere they fail at once."""

    CONNECTING = "connecting"  # the first attempt, or the one after `Link.retry`
    READY = "ready"
    OFFLINE = "offline"  # attempts go on behind it
    UNAUTHORIZED = "unauthorized"  # the token was refused: no attempt before `Link.retry`
    CLOSED = "closed"


class Link:
    """Keeps one connection up. ``on_frame`` gets each frame, ``on_state`` each new state with its reason."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        on_frame: Callable[[str | bytes], None],
        on_state: Callable[[ClientState, str], None],
        backoff: Backoff,
    ) -> None:
        self.endpoint = endpoint
        self.state = ClientState.CONNECTING
        self.reason = "connecting"
        self.welcome: Welcome | None = None
        self._on_frame = on_frame
        self._on_state = on_state
        self._backoff = backoff
        self._outbox: dict[str, str] = {}  # by what they are, so that an unsent one can be taken back
        self._filled = asyncio.Event()
        self._changed = asyncio.Event()
        self._retry = asyncio.Event()

    def post(self, key: str, frame: str) -> bool:
        """Queue a frame. False when there is no connection, or when too many wait already."""
        if self.state is not ClientState.READY or len(self._outbox) >= MAX_UNSENT:
            return False
        self._outbox[key] = frame
        self._filled.set()
        return True

    def take_back(self, key: str) -> bool:
        """Drop a frame that was not sent yet. False when it has gone out."""
        return self._outbox.pop(key, None) is not None

    def retry(self) -> None:
        """Try to connect now instead of later."""
        if self.state in (ClientState.OFFLINE, ClientState.UNAUTHORIZED):
            self._backoff.reset()
            self._enter(ClientState.CONNECTING, "connecting")
            self._retry.set()

    async def wait_ready(self) -> Welcome:
        """Wait for the attempt at hand. Raises: ConnectFailed with the reason when it comes to nothing."""
        while self.state is ClientState.CONNECTING:
            await self._changed.wait()
        if self.state is ClientState.READY and self.welcome is not None:
            return self.welcome
        raise ConnectFailed(self.reason, unauthorized=self.state is ClientState.UNAUTHORIZED)

    def closed(self) -> None:
        """To be called when `run` has ended for good."""
        self._enter(ClientState.CLOSED, "the client has been closed")

    async def run(self) -> None:
        """Connect, serve the connection until it is lost, and again, until cancelled."""
        while True:
            self._retry.clear()
            try:
                connection, welcome = await self.endpoint.open()
            except ConnectFailed as exc:
                state = ClientState.UNAUTHORIZED if exc.unauthorized else ClientState.OFFLINE
                self._enter(state, str(exc))
            else:
                await self._serve(connection, welcome)
            await self._pause()

    async def _pause(self) -> None:
        delay = None if self.state is ClientState.UNAUTHORIZED else self._backoff.next()
        try:
            async with asyncio.timeout(delay):
                await self._retry.wait()
        except TimeoutError:
            pass

    async def _serve(self, connection: Receiver, welcome: Welcome) -> None:
        since = time.monotonic()
        self.welcome = welcome
        sender = asyncio.create_task(self._send(connection), name="codeserve-client-send")
        try:
            self._enter(ClientState.READY, "")
            begun = time.monotonic()
            async for frame in connection:  # which does not wait while frames are there
                shielded(self._on_frame, frame)
                if time.monotonic() - begun > SLICE_S:
                    await asyncio.sleep(0)
                    begun = time.monotonic()
        except ConnectionClosed:
            pass  # `ended` says why
        finally:
            sender.cancel()
            await connection.close()
        if time.monotonic() - since >= STABLE_S:
            self._backoff.reset()
        why = ended(connection)
        self._enter(ClientState.OFFLINE, f"the connection to {self.endpoint.shown} was lost ({why})")

    async def _send(self, connection: Receiver) -> None:
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._outbox:
                frame = self._outbox.pop(next(iter(self._outbox)))
                try:
                    await connection.send(frame)
                except ConnectionClosed:
                    return  # the reader sees it too

    def _enter(self, state: ClientState, reason: str) -> None:
        if (state, reason) == (self.state, self.reason):
            return
        _log.debug("%s: %s", state, reason)
        if state is not ClientState.READY:
            self._outbox.clear()
        self.state, self.reason = state, reason
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        self._on_state(state, reason)
