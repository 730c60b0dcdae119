"""Messages from standard input to the server, each with the time at which it came in.

One thread reads, the event loop handles. pygls' own reader goes through a thread three times for each
message, and knows of a message only when all before it have been handled: the time that it waited until then
would be missing from the budget.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

import orjson

__all__ = ["read_messages", "serve"]

# Messages that wait to be handled; beyond them the editor's pipe fills up.
MAX_WAITING = 256
# Bytes of one message, which holds a document at most, and of one line of its header.
MAX_BODY = 1 << 28
MAX_HEADER = 8_192
# How often it is looked whether the editor's process is still there.
LOOK_S = 3.0

_log = logging.getLogger(__name__)


class Handler(Protocol):
    """The part of pygls' protocol object that takes messages."""

    def set_writer(self, writer: Any) -> None: ...
    def structure_message(self, data: dict[str, Any]) -> Any: ...
    def handle_message(self, message: Any) -> None: ...


def read_messages(stream: BinaryIO, take: Callable[[bytes], None]) -> None:
    """Hand over the body of each message until the stream ends, also within one.

    Raises: ValueError for a header that gives no length, or none that can be: where the next message begins
    is not known then.
    """
    while True:
        length = None
        while header := stream.readline(MAX_HEADER):
            if len(header) == MAX_HEADER:
                raise ValueError("a header without an end")
            header = header.strip()
            if not header:
                break
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if length is None:
            if stream.read(1) == b"":
                return
            raise ValueError("a message without a length")
        if not 0 <= length <= MAX_BODY:
            raise ValueError(f"a message of {length} bytes")
        body = stream.read(length)
        if len(body) < length:
            return
        take(body)


def _loads(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # Python's own takes lone surrogates, which an editor in UTF-16 may send, and what bytes that are no
        # UTF-8 become here (`codeserve_lsp.text`): with such a byte the message counts all the same
        return json.loads(body.decode("utf-8", "surrogateescape"))


class Writer:
    """Writes messages to a stream. When nobody reads them any more, ``gone`` is called, once."""

    def __init__(self, stream: BinaryIO, gone: Callable[[], object]) -> None:
        self._stream = stream
        self._gone: Callable[[], object] | None = gone

    def write(self, data: bytes) -> None:
        if self._gone is None:
            return
        try:
            self._stream.write(data)
            self._stream.flush()
        except (OSError, ValueError) as exc:
            _log.error("the editor reads no answers any more: %s", type(exc).__name__)
            gone, self._gone = self._gone, None
            gone()

    def close(self) -> None:
        """Nothing: the stream is not this one's."""


async def serve(
    handler: Handler, arrived: Callable[[float], None], orphaned: Callable[[], bool] = lambda: False
) -> None:
    """Handle messages in their order until the editor is gone.

    ``arrived`` is called with the loop's time at which a message came in, before the message is handled and
    begun. ``orphaned`` is asked now and then whether the editor's process is gone, whose pipe another one may
    hold open. Raises: SystemExit when the editor says exit, and when its messages cannot be read any more.
    """
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
    broken = False
    room = threading.Semaphore(MAX_WAITING)

    def take(body: bytes) -> None:
        room.acquire()
        loop.call_soon_threadsafe(waiting.put_nowait, (loop.time(), body))

    def read() -> None:
        nonlocal broken
        # a stream of its own: Python locks and closes sys.stdin at its end, while this thread reads
        try:
            with open(sys.stdin.fileno(), "rb", closefd=False) as stream:
                read_messages(stream, take)
        except (OSError, ValueError) as exc:
            _log.error("the editor's messages cannot be read any more: %s", exc)
            broken = True
        except RuntimeError:
            return  # the event loop is closed: what comes behind ``exit`` is for nobody
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(waiting.put_nowait, None)

    def look() -> None:
        if orphaned():
            _log.warning("the editor's process is gone")
            waiting.put_nowait(None)
        else:
            loop.call_later(LOOK_S, look)

    loop.call_later(LOOK_S, look)
    handler.set_writer(Writer(sys.stdout.buffer, lambda: waiting.put_nowait(None)))
    sys.stdout = sys.stderr  # whatever is printed by mistake must not get between the messages
    threading.Thread(target=read, name="codeserve-stdin", daemon=True).start()
    while (item := await waiting.get()) is not None:
        arrived(item[0])
        room.release()
        try:
            handler.handle_message(handler.structure_message(_loads(item[1])))
        except Exception as exc:
            _log.warning("a message that cannot be handled: %s", type(exc).__name__)
        # a handler that this message started begins now, before the next message changes a document
        await asyncio.sleep(0)
    if broken:
        raise SystemExit(1)
