"""An engine that does what a test tells it to: for what a real one cannot be made to do at will."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Literal

import attrs

from codeserve.completion.tokens import Tokenizer
from codeserve.engine.base import EngineInfo, EngineState, GenerationChunk, GenerationRequest
from codeserve.errors import CodeserveError, EngineUnavailable, RequestError
from codeserve.protocol import ErrorCode

__all__ = ["Crash", "Fault", "Ids", "Length", "Pause", "ScriptedEngine", "Stall", "Sure"]


@attrs.frozen
class Pause:
    """Nothing comes for a while."""

    seconds: float


@attrs.frozen
class Stall:
    """Nothing comes any more, until the request is aborted."""


@attrs.frozen
class Crash:
    """The engine dies: every live request fails, and it is not ready."""


@attrs.frozen
class Fault:
    """A bug in the engine, with a message that quotes what it worked on."""

    message: str


@attrs.frozen
class Length:
    """The output budget is used up."""


@attrs.frozen
class Ids:
    """These tokens, all in one chunk."""

    token_ids: tuple[int, ...]


@attrs.frozen
class Sure:
    """What follows has this log-probability for each token."""

    logprob: float


# An event: nothing comes until the test sets it.
Step = str | asyncio.Event | Pause | Stall | Crash | Fault | Length | Ids | Sure


@attrs.define(eq=False)
class ScriptedEngine:
    """Plays one script a request: texts token by token at ``pace`` seconds each, and the steps above."""

    tokenizer: Tokenizer
    state: EngineState = EngineState.READY
    failure: str | None = None
    retry_after_ms: int | None = None
    pace: float = 0.0
    prompt_cached: int = 0
    start_error: CodeserveError | None = None
    tokens_after_end: int = 0
    restarts: int = 0
    requests: list[GenerationRequest] = attrs.field(factory=list)
    aborted: list[str] = attrs.field(factory=list)
    closed: bool = False
    _script: tuple[Step, ...] = ("x = 1\n",)
    _next: list[tuple[Step, ...]] = attrs.field(factory=list)
    _live: dict[str, asyncio.Event] = attrs.field(factory=dict)

    def play(self, *steps: Step) -> None:
        """What every request gets from now on."""
        self._script = steps

    def play_next(self, *steps: Step) -> None:
        """What the next request gets that has no script of its own yet."""
        self._next.append(steps)

    @property
    def live(self) -> set[str]:
        """The ids of the requests that it works on."""
        return set(self._live)

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(model="scripted", engine="scripted", context_tokens=4096, speculation=None)

    async def start(self) -> None:
        if self.start_error is not None:
            self.state, self.failure = EngineState.FAILED, str(self.start_error)
            raise self.start_error

    async def administer(self, lever: str, seconds: float) -> str:
        if self.state is EngineState.RESTARTING:
            raise EngineUnavailable("the engine is restarting")
        if lever == "profile":
            raise RequestError(ErrorCode.INVALID, "a profile needs a folder")
        if lever == "reset-cache":
            raise ValueError("planted")
        self.state = EngineState.ASLEEP if lever == "sleep" else EngineState.READY
        return f"{lever} done"

    async def close(self) -> None:
        self.state, self.closed = EngineState.STOPPED, True

    async def abort(self, request_id: str) -> None:
        self.aborted.append(request_id)
        if request_id in self._live:
            self._live[request_id].set()

    def crash(self) -> None:
        """Die now."""
        self.state, self.failure = EngineState.RESTARTING, "the engine process died"
        for event in self._live.values():
            event.set()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GenerationChunk, None]:
        if self.state is not EngineState.READY:
            raise EngineUnavailable(f"the engine is {self.state}", retry_after_ms=700)
        self.requests.append(request)
        over = self._live[request.id] = asyncio.Event()
        script = self._next.pop(0) if self._next else self._script
        logprob = -0.1
        try:
            room = request.max_tokens
            for step in script:
                match step:
                    case str():
                        ids = self.tokenizer.encode_infilling(step)[:room]
                        for token in ids:
                            await self._wait(over, self.pace)
                            if over.is_set():
                                break
                            room -= 1
                            yield self._chunk(request, (token,), logprob, "length" if room == 0 else None)
                    case Ids():
                        ids = list(step.token_ids[:room])
                        room -= len(ids)
                        yield self._chunk(request, tuple(ids), logprob, "length" if room == 0 else None)
                    case Sure():
                        logprob = step.logprob
                    case Pause():
                        await self._wait(over, step.seconds)
                    case asyncio.Event():
                        await step.wait()
                    case Stall():
                        await over.wait()
                    case Crash():
                        self.crash()
                    case Fault():
                        raise ValueError(step.message)
                    case Length():
                        yield self._chunk(request, (), logprob, "length")
                        return
                if self.state is not EngineState.READY:
                    raise EngineUnavailable("the engine process died", retry_after_ms=700)
                if over.is_set() or room == 0:
                    return
            yield self._chunk(request, (), logprob, "stop")
        finally:
            del self._live[request.id]

    async def _wait(self, over: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await over.wait()
        except TimeoutError:
            pass

    def _chunk(
        self,
        request: GenerationRequest,
        ids: tuple[int, ...],
        logprob: float,
        finish: Literal["stop", "length"] | None,
    ) -> GenerationChunk:
        return GenerationChunk(
            token_ids=ids,
            finish=finish,
            prompt_tokens=len(request.prompt_token_ids),
            cached_tokens=self.prompt_cached,
            queue_ms=0.0,
            logprobs=(logprob,) * len(ids) if request.logprobs else (),
        )
