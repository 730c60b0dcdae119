"""Work that reads files, in one thread beside the event loop.

A daemon: a file system that does not answer must not keep the process from ending with its editor, as it
would in asyncio's own threads.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Worker"]

T = TypeVar("T")


class Worker:
    """Runs one piece of work after the other. The thread starts with the first one."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Have ``work()`` done and wait for it. Raises: what it raises."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def succeed(result: T) -> None:
            if not future.done():  # else nobody waits any more
                future.set_result(result)

        def fail(exc: Exception) -> None:
            if not future.done():
                future.set_exception(exc)

        def do() -> None:
            try:
                result = work()
            except Exception as exc:
                loop.call_soon_threadsafe(fail, exc)
            else:
                loop.call_soon_threadsafe(succeed, result)

        self._waiting.put(do)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="codeserve-files", daemon=True)
            self._thread.start()
        return await future

    def _work(self) -> None:
        while True:
            do = self._waiting.get()
            try:
                do()
            except RuntimeError:
                return  # the event loop is closed
