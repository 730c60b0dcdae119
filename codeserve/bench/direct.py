"""Measurements on the engine itself, without a server in between: started here, asked, timed, closed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import count

import attrs

from codeserve.engine.base import Engine, GenerationRequest
from codeserve.engine.preset import Preset
from codeserve.engine.vllm_engine import VllmEngine

__all__ = ["Run", "ask", "ask_together", "running"]

_NUMBERS = count()


@attrs.frozen
class Run:
    """One generation. Times are milliseconds since it was asked for, one for each output token."""

    token_ms: tuple[float, ...]
    prompt_tokens: int
    cached_tokens: int
    drafted_tokens: int
    accepted_tokens: int
    token_ids: tuple[int, ...] = ()

    @property
    def ttft_ms(self) -> float:
        return self.token_ms[0]

    @property
    def tpot_ms(self) -> float | None:
        """Mean time per token after the first; None with fewer than two."""
        later = len(self.token_ms) - 1
        return (self.token_ms[-1] - self.token_ms[0]) / later if later else None

    def total_ms(self, tokens: int) -> float | None:
        """Until so many tokens were there, if there are as many."""
        return self.token_ms[tokens - 1] if len(self.token_ms) >= tokens else None


@contextlib.asynccontextmanager
async def running(preset: Preset) -> AsyncIterator[VllmEngine]:
    """A ready engine for a preset, closed in the end. Raises: ConfigError, EngineStartError."""
    engine = VllmEngine(preset)
    try:
        await engine.start()
        yield engine
    finally:
        await engine.close()


async def ask(
    engine: Engine,
    prompt: Sequence[int],
    max_tokens: int,
    stop_token_ids: tuple[int, ...] = (),
    ended: Callable[[tuple[int, ...]], bool] | None = None,
) -> Run:
    """Generate, greedily, and time each token.

    ``ended`` is told the ids as they come, and ends the generation by saying so.
    """
    request = GenerationRequest(
        id=f"bench-{next(_NUMBERS)}",
        prompt_token_ids=list(prompt),
        max_tokens=max_tokens,
        stop_token_ids=stop_token_ids,
    )
    times: list[float] = []
    ids: list[int] = []
    cached = drafted = accepted = 0
    began = time.perf_counter()
    async with contextlib.aclosing(engine.generate(request)) as chunks:
        async for chunk in chunks:
            times += [(time.perf_counter() - began) * 1000] * len(chunk.token_ids)
            ids += chunk.token_ids
            cached, drafted, accepted = chunk.cached_tokens, chunk.drafted_tokens, chunk.accepted_tokens
            if ended is not None and ended(chunk.token_ids):
                break
    return Run(tuple(times), len(prompt), cached, drafted, accepted, tuple(ids))


async def ask_together(engine: VllmEngine, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Run]:
    """Generate for all prompts at the same time."""
    return await asyncio.gather(*(ask(engine, prompt, max_tokens) for prompt in prompts))
