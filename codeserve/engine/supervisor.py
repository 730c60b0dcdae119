"""Keeps an engine running: brings it up, notices its death, brings it up again, gives up in the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import attrs

from codeserve.engine.base import EngineState
from codeserve.errors import CodeserveError, EngineStartError, EngineUnavailable

__all__ = ["Backoff", "Supervised", "Supervisor"]

_FIRST_GUESS = 30.0  # seconds a start takes, before one was measured


class Supervised(Protocol):
    """One engine, from its start to its end."""

    async def start(self) -> None:
        """Returns when it takes requests. Raises: EngineStartError, ConfigError."""
        ...

    async def wait_dead(self) -> str:
        """Returns when it has died, with one line on why."""
        ...

    async def close(self) -> None:
        """Leaves no process behind, at whatever point it is. Idempotent."""
        ...


SupervisedT = TypeVar("SupervisedT", bound=Supervised)


@attrs.define
class Backoff:
    """Pauses before a new start: 1, 2, 4 … seconds; gives up after ``attempts`` failures in a row."""

    attempts: int = 6
    longest: float = 60.0
    stable: float = 120.0  # seconds of life after which a failure counts as the first one
    _failures: int = attrs.field(default=0, init=False)

    def failed(self, lived: float) -> float | None:
        """Seconds to pause after a life of ``lived`` seconds (0 for a failed start), or None to give up."""
        self._failures = 1 if lived >= self.stable else self._failures + 1
        if self._failures > self.attempts:
            return None
        return float(min(self.longest, 2.0 ** (self._failures - 1)))


class Supervisor(Generic[SupervisedT]):
    """Runs one engine at a time out of ``make``. All methods belong to one event loop."""

    def __init__(
        self,
        make: Callable[[], SupervisedT],
        on_state: Callable[[EngineState], None],
        *,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._on_state = on_state
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._first: asyncio.Future[None] | None = None
        self._part: SupervisedT | None = None
        self._ready = False
        self._start_seconds = _FIRST_GUESS
        self._ready_at = 0.0  # when it is expected to take requests again
        self.state = EngineState.STARTING
        self.failure: str | None = None
        self.restarts = 0

    async def start(self) -> None:
        """Bring the engine up the first time; a failure then is final. Raises: what its start raises."""
        if self._task is not None or self.state is EngineState.STOPPED:
            raise RuntimeError("an engine is started once")
        first = self._first = asyncio.get_running_loop().create_future()
        self._ready_at = self._clock() + self._start_seconds
        self._task = asyncio.create_task(self._run(first), name="engine-supervisor")
        await asyncio.shield(first)

    @property
    def retry_after_ms(self) -> int | None:
        """Until an engine is expected to take requests while one comes up; None when none does."""
        if self.state not in (EngineState.STARTING, EngineState.RESTARTING):
            return None
        return round(max(1.0, self._ready_at - self._clock()) * 1000)

    @property
    def part(self) -> SupervisedT | None:
        """The engine, at whatever point of its life; None between two."""
        return self._part

    def running(self) -> SupervisedT:
        """The engine. Raises: EngineUnavailable, with when to ask again, while there is none."""
        if self._ready and self._part is not None:
            return self._part
        if (retry_after_ms := self.retry_after_ms) is not None:
            raise EngineUnavailable(self.failure or "the model is loading", retry_after_ms=retry_after_ms)
        raise EngineUnavailable(self.failure or "the engine has been stopped")

    async def close(self) -> None:
        """Stop for good. Idempotent."""
        self._ready = False
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._first is not None and not self._first.done():
            self._first.set_exception(EngineUnavailable("the engine was stopped while it started"))
            self._first.exception()  # whoever started it may be gone by now
        if self._part is not None:
            await self._part.close()
            self._part = None
        self._enter(EngineState.STOPPED)

    async def _run(self, first: asyncio.Future[None]) -> None:
        try:
            delay = await self._live(first)
            while delay is not None:
                await asyncio.sleep(delay)
                delay = await self._live(None)
        except Exception as caught:  # what could not even be made, or not be cleared away
            error = _unforeseen(caught)
            self._ready = False
            self.failure = str(error)
            if not first.done():
                first.set_exception(error)
                first.exception()  # whoever started it may be gone by now
        self._enter(EngineState.FAILED)

    async def _live(self, first: asyncio.Future[None] | None) -> float | None:
        """One life of the engine. Returns the pause before the next one, None when there is to be none."""
        part = self._part = self._make()
        began = self._clock()
        lived = 0.0
        try:
            await part.start()
        except Exception as caught:
            error = caught if isinstance(caught, CodeserveError) else _unforeseen(caught)
            self.failure = str(error)
            await part.close()
            if first is not None:
                self._enter(EngineState.FAILED)
                first.set_exception(error)
                first.exception()  # whoever started it may be gone by now
                return None
        else:
            lived = await self._serve(part, began, first)
            await part.close()
        self._part = None
        delay = self._backoff.failed(lived)
        if delay is not None:
            self._ready_at = self._clock() + delay + self._start_seconds
        return delay

    async def _serve(self, part: SupervisedT, began: float, first: asyncio.Future[None] | None) -> float:
        """From ready to dead. Returns the seconds in between."""
        ready = self._clock()
        self._start_seconds = ready - began
        self._ready = True
        self.failure = None
        if first is None:
            self.restarts += 1
        elif not first.done():
            first.set_result(None)
        self._enter(EngineState.READY)
        reason = await part.wait_dead()
        self._ready = False
        self.failure = f"the engine died: {reason}"
        self._ready_at = self._clock() + self._start_seconds
        self._enter(EngineState.RESTARTING)
        return self._clock() - ready

    def _enter(self, state: EngineState) -> None:
        if state is not self.state:
            self.state = state
            self._on_state(state)


def _unforeseen(error: Exception) -> EngineStartError:
    text = " ".join(str(error).split())[:200]
    return EngineStartError(f"the engine cannot be started: {type(error).__name__}: {text}")
