"""What the server asks of an inference engine, and what it gets back.

The server knows these names only; `codeserve.engine.vllm_engine` is the implementation.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from enum import StrEnum
from typing import Literal, Protocol

import attrs

__all__ = ["Engine", "EngineInfo", "EngineState", "GenerationChunk", "GenerationRequest"]


class EngineState(StrEnum):
    """Where an engine stands. Only ``READY`` takes requests."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"  # it crashed; a new one is being brought up
    ASLEEP = "asleep"  # its memory was given back by an operator, who can wake it
    FAILED = "failed"  # it cannot be brought up; `Engine.failure` says why
    STOPPED = "stopped"


@attrs.frozen
class EngineInfo:
    """What is running: shown in `welcome`, `check` and the metrics."""

    model: str  # preset or folder name
    engine: str  # e.g. "vllm 0.32.0 (cpu)"
    context_tokens: int  # prompt and output together
    speculation: str | None  # e.g. "ngram", None when off


@attrs.frozen
class GenerationRequest:
    """One sequence to generate, from token ids. Ids are unique over the engine's life."""

    id: str
    prompt_token_ids: list[int]
    max_tokens: int
    stop_token_ids: tuple[int, ...] = ()
    temperature: float = 0.0  # 0 is greedy
    seed: int | None = None
    priority: int = 0  # lower runs first
    logprobs: bool = False  # tell those of the tokens


@attrs.frozen
class GenerationChunk:
    """What one or more engine steps brought since the chunk before it."""

    token_ids: tuple[int, ...]
    finish: Literal["stop", "length"] | None  # None while it goes on
    prompt_tokens: int
    cached_tokens: int  # prompt tokens whose KV blocks were in the prefix cache
    drafted_tokens: int = 0  # running total for this request; 0 without speculation
    accepted_tokens: int = 0  # running total for this request
    logprobs: tuple[float, ...] = ()  # natural, one for each of ``token_ids``; () unless asked for
    queue_ms: float | None = None  # from arrival at the engine to its first scheduling


class Engine(Protocol):
    """An engine. All coroutines run on one event loop; none of the methods is thread-safe."""

    @property
    def state(self) -> EngineState: ...

    @property
    def info(self) -> EngineInfo: ...

    @property
    def failure(self) -> str | None:
        """One line on why the engine is not ready, or None."""
        ...

    @property
    def retry_after_ms(self) -> int | None:
        """When it is worth asking again while the engine is not ready, None when it will not be again."""
        ...

    @property
    def tokens_after_end(self) -> int:
        """Tokens generated for requests that had already ended here (aborted, or iteration left)."""
        ...

    @property
    def restarts(self) -> int:
        """How often a crashed engine was brought up again."""
        ...

    async def start(self) -> None:
        """Bring the engine up; returns when it is ready. Raises: EngineStartError, ConfigError."""
        ...

    def generate(self, request: GenerationRequest) -> AsyncGenerator[GenerationChunk, None]:
        """Stream a generation. Leaving the iterator early aborts it in the engine.

        Chunks are merged while the consumer is slow, never queued without bound.
        Raises: EngineUnavailable when no engine runs or it dies on the way.
        """
        ...

    async def abort(self, request_id: str) -> None:
        """Stop working on a request at once; its iterator ends without a finish. Unknown ids are ignored."""
        ...

    async def administer(self, lever: str, seconds: float) -> str:
        """Do one of `codeserve.engine.levers.LEVERS`; returns what was done, in one line.

        Raises: EngineUnavailable when no engine runs; RequestError for what it cannot do.
        """
        ...

    async def close(self) -> None:
        """Stop; leaves no process behind. Idempotent."""
        ...
