"""What is on its way to one client: merged while the client is slow, bounded always."""

from __future__ import annotations

import asyncio

import attrs

from codeserve.protocol import Delta, ServerMessage, Status

__all__ = ["Mailbox"]

_STATUS = object()


@attrs.define(eq=False)
class _Slot:
    id: str = ""
    text: str = ""  # deltas that were not sent yet, put together
    last: ServerMessage | None = None  # what follows them; nothing comes after it


class Mailbox:
    """Messages from the server's parts to the one task that writes to the socket.

    Each request has one slot, however many deltas it brings, and there is one slot for the newest `Status`.
    Other messages have a slot each; the connection reads no further frame while ``limit`` slots are taken,
    so that a client that sends and does not read holds at most ``limit`` of them and its live requests.
    """

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._slots: dict[object, _Slot] = {}  # in the order in which they are sent
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._slots)

    def put(self, message: ServerMessage) -> None:
        """Send a message that belongs to no live request."""
        self._slot(_STATUS if isinstance(message, Status) else object()).last = message

    def delta(self, key: object, id: str, text: str) -> None:
        """Send text of the request ``key``, whose wire id is ``id``."""
        slot = self._slot(key)
        slot.id = id
        slot.text += text

    def end(self, key: object, message: ServerMessage) -> None:
        """Send the last message of the request ``key``, after its deltas."""
        self._slot(key).last = message

    def _slot(self, key: object) -> _Slot:
        if self._closed:
            return _Slot()  # nobody will read it
        slot = self._slots.setdefault(key, _Slot())
        self._filled.set()
        if len(self._slots) >= self._limit:
            self._room.clear()
        return slot

    def close(self) -> None:
        """No message will follow: `next` gives what is left, then None."""
        self._closed = True
        self._filled.set()
        self._room.set()

    async def room(self) -> None:
        """Wait until there is room for the answer to a further frame, or the mailbox is closed."""
        await self._room.wait()

    async def next(self) -> ServerMessage | None:
        """Take the next message; None when there will be none."""
        while not self._slots:
            if self._closed:
                return None
            self._filled.clear()
            await self._filled.wait()
        key, slot = next(iter(self._slots.items()))
        message: ServerMessage | None = slot.last
        if slot.text:
            message, slot.text = Delta(slot.id, slot.text), ""
        if message is slot.last or slot.last is None:
            del self._slots[key]
            if len(self._slots) < self._limit:
                self._room.set()
        return message
