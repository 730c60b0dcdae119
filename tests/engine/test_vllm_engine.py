"""Generating with the real engine and the bundled model."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from codeserve.engine.base import EngineState, GenerationChunk, GenerationRequest
from codeserve.engine.vllm_engine import VllmEngine
from codeserve.errors import RequestError
from tests.engine.models import repetitive_code

pytestmark = pytest.mark.engine

_NUMBERS = itertools.count()
EOT = 32010


def request(ids: list[int], max_tokens: int = 16, **fields: Any) -> GenerationRequest:
    name = f"test-{next(_NUMBERS)}"
    return GenerationRequest(id=name, prompt_token_ids=ids, max_tokens=max_tokens, **fields)


def prompt(length: int, seed: int) -> list[int]:
    source = random.Random(seed)
    return [1, *(source.randrange(1000, 31000) for _ in range(length - 1))]


async def collect(stream: AsyncIterator[GenerationChunk]) -> tuple[list[int], list[GenerationChunk]]:
    chunks = [chunk async for chunk in stream]
    return [id for chunk in chunks for id in chunk.token_ids], chunks


async def quiet(engine: VllmEngine) -> int:
    """Let what is on its way arrive; returns the tokens generated after the end since."""
    before = engine.tokens_after_end
    await collect(engine.generate(request(prompt(20, 99), 4)))
    await asyncio.sleep(0.2)
    return engine.tokens_after_end - before


async def test_ready(engine: VllmEngine) -> None:
    """A started engine says what it is."""
    assert engine.state is EngineState.READY
    assert engine.failure is None
    assert engine.stage == "ready"
    assert engine.info.model == "mini-codellama"
    assert engine.info.engine.startswith("vllm 0.")
    assert engine.info.context_tokens == 4096


async def test_same_prompt_same_answer_and_cached(engine: VllmEngine) -> None:
    """Greedy answers repeat, and a repeated prompt of 1,600 tokens is nearly all cached."""
    ids = prompt(1600, 1)
    first, cold = await collect(engine.generate(request(ids)))
    second, warm = await collect(engine.generate(request(ids)))
    assert first == second
    assert len(first) == 16
    assert cold[0].cached_tokens < 100
    assert warm[0].cached_tokens >= 0.95 * 1600
    assert {chunk.prompt_tokens for chunk in warm} == {1600}
    assert [chunk.finish for chunk in warm] == [None] * (len(warm) - 1) + ["length"]


async def test_prefix_of_a_longer_prompt_is_cached(engine: VllmEngine) -> None:
    """Typing on finds all whole blocks of what was there before."""
    ids = prompt(1000, 2)
    await collect(engine.generate(request(ids, 2)))
    _, chunks = await collect(engine.generate(request([*ids, 5000, 5001], 2)))
    assert chunks[0].cached_tokens >= 1000 - 32


async def test_queue_time(engine: VllmEngine) -> None:
    """Time in the queue is told, and short when nothing else runs."""
    _, chunks = await collect(engine.generate(request(prompt(50, 3))))
    assert chunks[-1].queue_ms is not None
    assert 0 <= chunks[-1].queue_ms < 1000


async def test_stop_token(engine: VllmEngine) -> None:
    """A stop token ends the answer, and is its last token."""
    ids = prompt(100, 4)
    answer, _ = await collect(engine.generate(request(ids, 8)))
    stop = answer[3]
    stopped, chunks = await collect(engine.generate(request(ids, 8, stop_token_ids=(EOT, stop))))
    assert stopped == answer[: answer.index(stop) + 1]
    assert chunks[-1].finish == "stop"


async def test_logprobs(engine: VllmEngine) -> None:
    """When asked for, each token comes with its log-probability, in merged chunks too; else none does."""
    ids = prompt(100, 5)
    plain, chunks = await collect(engine.generate(request(ids, 24)))
    assert all(chunk.logprobs == () for chunk in chunks)
    stream = engine.generate(request(ids, 24, logprobs=True))
    first = await anext(stream)
    await asyncio.sleep(1)
    rest, merged = await collect(stream)
    assert [*first.token_ids, *rest] == plain
    for chunk in (first, *merged):
        assert len(chunk.logprobs) == len(chunk.token_ids)
        assert all(logprob <= 0 for logprob in chunk.logprobs)
    assert len({round(logprob, 6) for chunk in (first, *merged) for logprob in chunk.logprobs}) > 2


async def test_chunks_arrive_as_they_come(engine: VllmEngine) -> None:
    """Tokens are streamed; while nobody takes them they are merged into one chunk."""
    ids = prompt(100, 5)
    _, chunks = await collect(engine.generate(request(ids, 32)))
    assert len(chunks) > 8
    stream = engine.generate(request(ids, 32))
    first = await anext(stream)
    await asyncio.sleep(2)
    _, rest = await collect(stream)
    assert len(rest) == 1
    assert len(first.token_ids) + len(rest[0].token_ids) == 32
    assert rest[0].finish == "length"


async def test_abort(engine: VllmEngine) -> None:
    """An aborted answer ends without a finish, twice is as good as once, and the engine stops working."""
    one = request(prompt(200, 6), 2000)
    stream = engine.generate(one)
    await anext(stream)
    await engine.abort(one.id)
    await engine.abort(one.id)
    _, rest = await collect(stream)
    assert all(chunk.finish is None for chunk in rest)
    assert await quiet(engine) <= 2


async def test_unknown_abort(engine: VllmEngine) -> None:
    """Aborting what does not exist does nothing."""
    await engine.abort("nobody")
    assert engine.state is EngineState.READY


@pytest.mark.parametrize("how", ["break", "aclose", "cancel"])
async def test_iterator_left_early(engine: VllmEngine, how: str) -> None:
    """Leaving the iterator aborts, in whichever way it is left."""
    stream = engine.generate(request(prompt(200, 7), 2000))
    await anext(stream)
    if how == "aclose":
        await stream.aclose()
    elif how == "cancel":
        task = asyncio.create_task(collect(stream))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        del stream  # what a `break` out of `async for` does to an iterator that nobody else holds
        await asyncio.sleep(0.05)
    assert await quiet(engine) <= 2


async def test_abort_counts_late_tokens(engine: VllmEngine) -> None:
    """What the engine still generates for an ended request is counted."""
    streams = [engine.generate(request(prompt(60, 100 + number), 500)) for number in range(6)]
    for stream in streams:
        await anext(stream)
    before = engine.tokens_after_end
    for stream in streams:
        await stream.aclose()
    await quiet(engine)
    late = engine.tokens_after_end - before
    assert late <= 6 * 3


async def test_eight_at_once(engine: VllmEngine) -> None:
    """Concurrent requests get what each of them gets alone."""
    # Code that repeats itself goes on in one way; among random ids the rounding of a batch may decide.
    prompts = [
        repetitive_code(name) for name in ("red", "blue", "green", "pink", "gold", "gray", "cyan", "lime")
    ]
    alone = [(await collect(engine.generate(request(ids))))[0] for ids in prompts]
    together = await asyncio.gather(*(collect(engine.generate(request(ids))) for ids in prompts))
    assert [answer for answer, _ in together] == alone
    assert len({tuple(answer) for answer in alone}) == 8


async def test_twins_do_not_interfere(engine: VllmEngine) -> None:
    """Of two requests with the same prompt one can end without the other."""
    ids = prompt(300, 40)
    one, other = request(ids, 500), request(ids, 24)
    stream = engine.generate(one)
    await anext(stream)
    task = asyncio.create_task(collect(engine.generate(other)))
    await asyncio.sleep(0.02)
    await engine.abort(one.id)
    answer, chunks = await task
    assert len(answer) == 24
    assert chunks[-1].finish == "length"
    await collect(stream)


async def test_priority(engine: VllmEngine) -> None:
    """Requests of a lower number are answered first when more wait than run at once."""
    ended: list[int] = []

    async def run(number: int, priority: int) -> None:
        await collect(engine.generate(request(prompt(40, 50 + number), 60, priority=priority)))
        ended.append(priority)

    background = [asyncio.create_task(run(number, 5)) for number in range(40)]
    await asyncio.sleep(0.1)
    await run(100, 0)
    behind = len(background) - len(ended) + 1
    await asyncio.gather(*background)
    assert behind >= 8


@pytest.mark.parametrize(
    "make",
    [lambda: request([]), lambda: request(prompt(4090, 1), 16), lambda: request([1], 0)],
    ids=["empty", "too long", "nothing to generate"],
)
async def test_requests_that_do_not_fit(engine: VllmEngine, make: Callable[[], GenerationRequest]) -> None:
    """A request outside the limits is refused, and the engine is not bothered."""
    with pytest.raises(RequestError, match="do not fit"):
        await collect(engine.generate(make()))


async def test_whole_context(engine: VllmEngine) -> None:
    """A prompt may fill the context up to what is to be generated."""
    answer, _ = await collect(engine.generate(request(prompt(4080, 60), 16)))
    assert len(answer) == 16


async def test_id_in_use(engine: VllmEngine) -> None:
    """A second live request with an id is refused; the first goes on."""
    one = request(prompt(50, 61), 40)
    stream = engine.generate(one)
    first = await anext(stream)
    with pytest.raises(ValueError, match="in use"):
        await collect(engine.generate(one))
    rest, _ = await collect(stream)
    assert len(first.token_ids) + len(rest) == 40
