"""What the parts of one server share."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import count

import attrs

from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.base import Engine, EngineState
from codeserve.errors import EngineUnavailable
from codeserve.protocol import Status
from codeserve.server.admission import Admission
from codeserve.server.auth import Authenticator
from codeserve.server.metrics import Metrics
from codeserve.settings import ServerSettings

__all__ = ["Context"]

_SETTLE_SECONDS = 2.0  # for the work in the background to end, and again once it was cancelled
_RETRY_LATER_MS = 10_000  # where the engine does not say when it will be there


@attrs.define(eq=False)
class Context:
    """One for each server."""

    settings: ServerSettings
    engine: Engine
    builder: PromptBuilder
    tokenizer: Tokenizer
    authenticator: Authenticator
    admission: Admission
    metrics: Metrics
    min_confidence: float | None = None  # where a request does not say
    stopping: bool = False
    stage: str = ""  # what the engine does on its way up
    numbers: count[int] = attrs.field(factory=count)  # for engine request ids
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set)

    @property
    def state(self) -> str:
        """An engine state, or "stopping"."""
        return "stopping" if self.stopping else self.engine.state

    @property
    def status(self) -> Status:
        return Status(self.state, self.admission.load)

    def require_engine(self) -> None:
        """Raises: EngineUnavailable, with the reason and when to ask again, unless requests are taken."""
        state = self.engine.state
        if self.stopping:
            raise EngineUnavailable("the server is stopping", retry_after_ms=_RETRY_LATER_MS)
        if state is not EngineState.READY:
            reason = self.engine.failure or self.stage
            if state is EngineState.ASLEEP:
                reason = "an operator can wake it by `codeserve admin wake`"
            raise EngineUnavailable(
                f"the engine is {state}" + (f": {reason}" if reason else ""),
                retry_after_ms=self.engine.retry_after_ms or _RETRY_LATER_MS,
            )

    def spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Run ``work`` in the background; the loop itself holds tasks only weakly."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settle(self) -> None:
        """Wait for the work in the background, then cancel what does not end."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_SETTLE_SECONDS)
            for task in late:
                task.cancel()
            if late:
                # Not without bound: what an operator began may wait for an engine that is about to be closed.
                await asyncio.wait(late, timeout=_SETTLE_SECONDS)
