"""A request under way, as the client's caller holds it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from codeserve.errors import RequestError
from codeserve.protocol import Complete, Done, Finish, Prewarm, Timings, Tokens

__all__ = ["CompletionHandle"]


class CompletionHandle:
    """One `Complete` or `Prewarm`: iterate it for the deltas, await `result` for what counts.

    It ends exactly once: with the server's answer, by a newer request for its document, by `cancel`, or by
    an error. Deltas that are not taken in time are merged. One reader only. Iteration ends early, without
    the deltas that remain, when the request is superseded or cancelled.
    """

    def __init__(
        self,
        request: Complete | Prewarm,
        cancel: Callable[[CompletionHandle], None],
        older: tuple[str, ...] = (),
    ) -> None:
        """``older``: the ids of superseded requests, of whose end the server hears by this one."""
        self.id = request.id
        self.document = request.document
        self.ttft_ms: float | None = None
        """Milliseconds from the call here until the first text was in hand: a delta, else the answer."""
        self.total_ms: float | None = None
        """Milliseconds from the call here until the end, whatever it was."""
        self.older = older
        self._has_text = isinstance(request, Complete)  # nobody reads what comes for a prewarm
        self._cancel = cancel
        self._started = time.perf_counter()
        self._pending = ""
        self._outcome: Done | RequestError | None = None
        self._wake = asyncio.Event()  # a delta or the end
        self._ended = asyncio.Event()

    @property
    def ended(self) -> bool:
        return self._outcome is not None

    def cancel(self) -> None:
        """End it at once with finish ``cancelled``; the server is told. Nothing happens if it has ended."""
        self._cancel(self)

    async def result(self) -> Done:
        """Wait for the end.

        Raises: RequestError with the server's code, or ``unavailable`` when the connection was lost.
        """
        while self._outcome is None:
            await self._ended.wait()
        if isinstance(self._outcome, Done):
            return self._outcome
        # a new one each time: an exception that is raised twice drags its first traceback along
        failed = self._outcome
        raise RequestError(failed.code, str(failed), retry_after_ms=failed.retry_after_ms)

    def __aiter__(self) -> CompletionHandle:
        return self

    async def __anext__(self) -> str:
        """The text since the last one, never empty. Raises: RequestError, as `result` does."""
        while not self._pending:
            if self.ended:
                await self.result()
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        text, self._pending = self._pending, ""
        return text

    # What follows is the client's side.

    def feed(self, text: str) -> None:
        """Take a delta. Ignored after the end, and for a prewarm."""
        if self.ended or not text or not self._has_text:
            return
        if self.ttft_ms is None:
            self.ttft_ms = self._elapsed_ms()
        self._pending += text
        self._wake.set()

    def end(self, outcome: Done | RequestError) -> None:
        """Take the outcome; only the first one counts."""
        if self.ended:
            return
        self.total_ms = self._elapsed_ms()
        if isinstance(outcome, Done) and outcome.text and self.ttft_ms is None:
            self.ttft_ms = self.total_ms
        self._outcome = outcome
        self._wake.set()
        self._ended.set()

    def end_here(self, finish: Finish) -> None:
        """End it on this side, without waiting for the server: what was not read yet is dropped."""
        if self.ended:
            return
        self._pending = ""
        timings = Timings(queue_ms=0.0, ttft_ms=None, total_ms=self._elapsed_ms())
        self.end(Done(id=self.id, text="", finish=finish, timings=timings, tokens=Tokens()))

    def _elapsed_ms(self) -> float:
        return (time.perf_counter() - self._started) * 1000
