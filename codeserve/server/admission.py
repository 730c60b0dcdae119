"""How much the server takes on at a time, over all clients: as much as it can answer in time.

A request is refused at once, with when to ask again, rather than left to run into its deadline: where more
sequences are in the engine than ``limit``; where, by what the engine took of late, its line would not be
there by its deadline; and where its client has its share of a server that is busy, while others ask too.
Nobody is refused for ever: now and then one that was told so for a while is taken on however late it will be,
since a prompt that is new to the server is the sooner answered the more of it has been computed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from time import monotonic

from codeserve.errors import RequestError
from codeserve.protocol import ErrorCode
from codeserve.server.pace import Pace, Service

__all__ = ["Admission", "Share"]

_MIN_RETRY_MS = 50
_MAX_RETRY_MS = 2_000
_GUESS_MS = 200.0  # for a line, before one was measured
_ASKING_SECONDS = 2.0  # after its last request a client still counts as one that asks
_PATIENCE_SECONDS = 1.0  # of being refused for being late, until a client's turn comes
# Between two such turns. By scripts/simulate_admission.py with 256 developers the cold prompts of one turn
# right after the other cost those who are in time a third of their answers, with this pause none that show.
_TURN_SECONDS = 2.0
_BUSY = 0.5  # share of what can be answered in time, from which on clients are held to their share


class Admission:
    """Counts the sequences that run or wait in the engine, and refuses what would not be answered in time.

    No one client can take all of it: its `Share` has a bound of its own.
    """

    def __init__(
        self, limit: int, limit_per_connection: int, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._limit = limit
        self._limit_per_connection = limit_per_connection
        self.now = clock  # seconds
        self._pace = Pace()
        self._asked: dict[Share, float] = {}  # by when they asked last, oldest first
        self.idle = asyncio.Event()  # nothing runs or waits
        self.idle.set()
        self.live = 0
        self._prewarms = 0  # of them
        self._turn = -math.inf  # when `turn` let somebody through

    @property
    def load(self) -> float:
        """The share of the limit in use, 0 to 1."""
        return min(1.0, self.live / self._limit)

    @property
    def retry_after_ms(self) -> int:
        """When it is worth asking again: when half of a line of what runs is through."""
        return _retry((self._pace.line_ms(self.live, since_s=0.0) or _GUESS_MS) / 2)

    def share(self) -> Share:
        """The share of one connection."""
        return Share(self, self._limit_per_connection)

    def observe(self, service: Service) -> None:
        """Note what a request got."""
        self._pace.observe(service)

    def asks(self, share: Share) -> int:
        """Note that a client asks. Returns how many do at present, it among them."""
        now = self.now()
        self._asked.pop(share, None)
        self._asked[share] = now
        while self._asked[oldest := next(iter(self._asked))] < now - _ASKING_SECONDS:
            del self._asked[oldest]
        return len(self._asked)

    def forget(self, share: Share) -> None:
        """The client is gone."""
        self._asked.pop(share, None)

    def late_ms(
        self, count: int, deadline_ms: float, *, since_s: float | None, own: int = 0, prewarm: bool = False
    ) -> float:
        """By how much ``count`` further sequences would miss their deadline; 0 when not, or not known yet.

        What comes to an idle engine is always tried. To a completion one is idle that has nothing to do but
        prewarms, and ``own`` sequences of the same client.
        """
        busy = self.live if prewarm else self.live - self._prewarms - own
        line = self._pace.line_ms(self.live + count, since_s=since_s)
        return max(0.0, line - deadline_ms) if line is not None and busy else 0.0

    def turn(self) -> bool:
        """Take the turn of those who were refused for long, if there is one at present."""
        now = self.now()
        if now - self._turn < _TURN_SECONDS:
            return False
        self._turn = now
        return True

    def capacity(self, deadline_ms: float) -> int:
        """How many sequences at a time get their line in time, at most the limit."""
        low, high = 1, self._limit
        while low < high:  # the time grows with their number
            middle = (low + high + 1) // 2
            line = self._pace.line_ms(middle, since_s=0.0)
            if line is None or line <= deadline_ms:
                low = middle
            else:
                high = middle - 1
        return low

    def take(self, count: int, *, prewarm: bool = False) -> bool:
        """Take room for ``count`` sequences, if it is there."""
        if self.live + count > self._limit:
            return False
        self.live += count
        self._prewarms += count if prewarm else 0
        self.idle.clear()
        return True

    def give_back(self, count: int, *, prewarm: bool = False) -> None:
        """The counterpart of `take`."""
        self.live -= count
        self._prewarms -= count if prewarm else 0
        if self.live == 0:
            self.idle.set()


class Share:
    """What one connection has in the engine."""

    def __init__(self, admission: Admission, limit: int) -> None:
        self._admission = admission
        self._limit = limit
        self.live = 0  # sequences of this connection that run or wait
        self._completions: list[int] = []  # of them, the sequences of each completion
        self._refused_at: float | None = None  # when one was first found too late, since one was taken on

    def take(
        self,
        count: int,
        deadline_ms: float | None = None,
        *,
        since_s: float | None = None,
        prewarm: bool = False,
    ) -> None:
        """Take room for ``count`` sequences, to be answered ``deadline_ms`` from now (None: whenever).

        ``since_s`` is the time since the engine last worked on this document for the client; None: never.
        Raises: RequestError (overloaded) with when to ask again.
        """
        admission = self._admission
        asking = admission.asks(self)
        if self.live + count > self._limit:
            raise _overloaded(
                f"this connection has {self.live} sequences running of {self._limit}: "
                "wait for their answers or cancel them",
                admission.retry_after_ms,
            )
        if deadline_ms is not None:
            self._require_in_time(count, deadline_ms, since_s, prewarm)
            self._require_fair(count, asking, deadline_ms)
        if not admission.take(count, prewarm=prewarm):
            raise _overloaded("the server has as much to do as it takes on", admission.retry_after_ms)
        self.live += count
        if not prewarm:
            self._completions.append(count)
            self._refused_at = None

    def _require_in_time(self, count: int, deadline_ms: float, since_s: float | None, prewarm: bool) -> None:
        """What would be late is refused; but not for one completion of the client's own, nor for ever."""
        admission = self._admission
        own = self._completions[0] if len(self._completions) == 1 else 0
        late = admission.late_ms(count, deadline_ms, since_s=since_s, own=own, prewarm=prewarm)
        if late <= 0:
            return
        if not prewarm:
            now = admission.now()
            if self._refused_at is None:
                self._refused_at = now
            elif not self.live and now - self._refused_at >= _PATIENCE_SECONDS and admission.turn():
                return
        raise _overloaded(
            f"the server is too busy to answer within {max(0.0, deadline_ms):.0f} ms", _retry(late)
        )

    def _require_fair(self, count: int, asking: int, deadline_ms: float) -> None:
        """On a busy server a client has its share and no more; who has nothing running always has one."""
        if asking < 2 or not self.live:
            return
        admission = self._admission
        capacity = admission.capacity(deadline_ms)
        if admission.live + count > capacity * _BUSY and self.live + count > math.ceil(capacity / asking):
            raise _overloaded(
                f"this connection has {self.live} sequences running and {asking - 1} others ask too: "
                "wait for their answers or cancel them",
                admission.retry_after_ms,
            )

    def give_back(self, count: int, *, prewarm: bool = False) -> None:
        """The counterpart of `take`."""
        self.live -= count
        if not prewarm:
            self._completions.remove(count)
        self._admission.give_back(count, prewarm=prewarm)

    def close(self) -> None:
        """The client is gone."""
        self._admission.forget(self)


def _overloaded(message: str, retry_after_ms: int) -> RequestError:
    return RequestError(ErrorCode.OVERLOADED, message, retry_after_ms=retry_after_ms)


def _retry(milliseconds: float) -> int:
    return math.ceil(min(max(milliseconds, _MIN_RETRY_MS), _MAX_RETRY_MS))
