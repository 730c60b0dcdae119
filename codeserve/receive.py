"""The client's WebSocket as far as reading goes: a server that sends a lot does not stop everything else."""

from __future__ import annotations

import asyncio

from websockets.asyncio.client import ClientConnection
from websockets.http11 import Response
from websockets.protocol import Event

__all__ = ["Receiver"]

# Bytes that are told apart at once: a frame has two at least, and each takes some ten microseconds.
PIECE = 512
# Pieces are taken for so long at a stretch, then others have as long.
SLICE_S = 0.002
# Frames that a server may send: one for each token at most, in bursts after a delay of the network.
FRAMES_PER_S = 2_000
BURST = 10_000


class Receiver(ClientConnection):
    """Takes in what the server sends piece by piece, with turns for others between.

    websockets tells apart all that the system hands over at once, however many frames that is. ``flooded``:
    the server sent more frames than any server has reason to, and the connection was dropped.
    """

    flooded = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._pending = b""
        self._at = 0  # what of it has been taken
        self._held = False  # enough messages wait to be handled
        self._due = False
        self._credit = float(BURST)
        self._credited = self.loop.time()
        self.recv_messages.pause, self.recv_messages.resume = self._hold, self._go_on

    def data_received(self, data: bytes) -> None:
        self._pending = self._pending[self._at :] + data
        self._at = 0
        if not self._due:
            self._take()

    def eof_received(self) -> None:
        self._take_rest()
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._take_rest()
        super().connection_lost(exc)

    def process_event(self, event: Event) -> None:
        super().process_event(event)
        if isinstance(event, Response):
            return
        now = self.loop.time()
        self._credit = min(BURST, self._credit + (now - self._credited) * FRAMES_PER_S) - 1
        self._credited = now
        if self._credit < 0 and not self.flooded:
            self.flooded = True
            self.transport.abort()

    def _take(self) -> None:
        self._due = False
        until = self.loop.time() + SLICE_S
        while not self._held and self._take_piece() and self.loop.time() < until:
            pass
        if self._at < len(self._pending):
            self.transport.pause_reading()
            if not self._held:
                self._due = True
                self.loop.call_later(SLICE_S, self._take)
        elif not self._held:
            self.transport.resume_reading()

    def _take_piece(self) -> bool:
        piece = self._pending[self._at : self._at + PIECE]
        if not piece or self.flooded:
            self._pending, self._at = b"", 0
            return False
        self._at += len(piece)
        super().data_received(piece)
        return True

    def _take_rest(self) -> None:
        while self._take_piece():
            pass

    def _hold(self) -> None:
        self._held = True
        self.transport.pause_reading()

    def _go_on(self) -> None:
        self._held = False
        if not self._due:
            self._due = True
            self.loop.call_soon(self._take)
