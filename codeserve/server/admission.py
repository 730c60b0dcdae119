"""How much the server takes on at a time, over all clients."""

from __future__ import annotations

import asyncio

from codeserve.errors import RequestError
from codeserve.protocol import ErrorCode

__all__ = ["Admission", "Share"]

_MIN_RETRY_MS = 50
_MAX_RETRY_MS = 2_000
_SMOOTHING = 0.1  # of a new duration in the running mean


class Admission:
    """Counts the sequences that run or wait in the engine, and refuses more than ``limit``.

    No one client can take all of it: its `Share` has a bound of its own.
    """

    def __init__(self, limit: int, limit_per_connection: int) -> None:
        self._limit = limit
        self._limit_per_connection = limit_per_connection
        self._mean_ms = 200.0
        self.idle = asyncio.Event()  # nothing runs or waits
        self.idle.set()
        self.live = 0

    @property
    def load(self) -> float:
        """The share of the limit in use, 0 to 1."""
        return min(1.0, self.live / self._limit)

    @property
    def retry_after_ms(self) -> int:
        """When it is worth asking again: half of what a request has taken of late."""
        return round(min(max(self._mean_ms / 2, _MIN_RETRY_MS), _MAX_RETRY_MS))

    def share(self) -> Share:
        """The share of one connection."""
        return Share(self, self._limit_per_connection)

    def took(self, milliseconds: float) -> None:
        """Note how long a request took."""
        self._mean_ms += _SMOOTHING * (milliseconds - self._mean_ms)

    def take(self, count: int) -> bool:
        """Take room for ``count`` sequences, if it is there."""
        if self.live + count > self._limit:
            return False
        self.live += count
        self.idle.clear()
        return True

    def give_back(self, count: int) -> None:
        """The counterpart of `take`."""
        self.live -= count
        if self.live == 0:
            self.idle.set()


class Share:
    """What one connection has in the engine."""

    def __init__(self, admission: Admission, limit: int) -> None:
        self._admission = admission
        self._limit = limit
        self._live = 0

    def take(self, count: int) -> None:
        """Take room for ``count`` sequences. Raises: RequestError (overloaded) with when to ask again."""
        retry = self._admission.retry_after_ms
        if self._live + count > self._limit:
            raise RequestError(
                ErrorCode.OVERLOADED,
                f"this connection has {self._live} sequences running of {self._limit}: "
                "wait for their answers or cancel them",
                retry_after_ms=retry,
            )
        if not self._admission.take(count):
            raise RequestError(
                ErrorCode.OVERLOADED, "the server has as much to do as it takes on", retry_after_ms=retry
            )
        self._live += count

    def give_back(self, count: int) -> None:
        """The counterpart of `take`."""
        self._live -= count
        self._admission.give_back(count)
