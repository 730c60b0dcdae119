"""A few notifications a second at most, and always the last one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Throttle"]

# So many within so many seconds.
COUNT = 5
PERIOD_S = 1.0

T = TypeVar("T")


class Throttle(Generic[T]):
    """Passes values on to ``tell``; of those that come too fast the last one, as soon as it may go."""

    def __init__(self, tell: Callable[[T], None]) -> None:
        self._tell = tell
        self._sent: deque[float] = deque(maxlen=COUNT)
        self._timer: asyncio.TimerHandle | None = None
        self._last: T
        self._closed = False

    def __call__(self, value: T) -> None:
        """To be called on the event loop."""
        self._last = value
        if self._timer is not None or self._closed:
            return
        loop = asyncio.get_running_loop()
        if len(self._sent) == COUNT and loop.time() - self._sent[0] < PERIOD_S:
            self._timer = loop.call_at(self._sent[0] + PERIOD_S, self._send)
        else:
            self._send()

    def _send(self) -> None:
        self._timer = None
        self._sent.append(asyncio.get_running_loop().time())
        self._tell(self._last)

    def close(self) -> None:
        """Nobody is to be told any more, of later values neither."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
