"""``codeserve bench llama-cpp``: the served model beside llama.cpp with the same weights, in one run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from codeserve.bench.corpus import Corpus, find_files, places
from codeserve.bench.direct import ask
from codeserve.bench.llama_cpp.convert import GgufType, write_gguf
from codeserve.bench.llama_cpp.serving import Serving, serving
from codeserve.bench.stats import percentile
from codeserve.completion.prompt import CompletionInput
from codeserve.engine.machine import affinity
from codeserve.engine.preset import Preset
from codeserve.engine.vllm_engine import VllmEngine
from codeserve.errors import CodeserveError

__all__ = ["ComparePlan", "LlamaCpp", "Timed", "llama_cpp", "run_compare", "summary"]

_WHO = ["served", "llama_cpp", "engine"]


@attrs.frozen
class ComparePlan:
    """What is compared: so many prompts, each asked cold and then again, by each of the three in turn."""

    prompts: int = 12
    prompt_tokens: int = 1600
    tokens: int = 16  # of output
    kind: GgufType = "bf16"
    files: Sequence[str] = ()
    seed: int = 0


@attrs.frozen
class Timed:
    """One answer: milliseconds to its first token (or text) and to the last, and the tokens' ids if known."""

    first_ms: float
    total_ms: float
    ids: tuple[int, ...]
    tokens: int


class LlamaCpp:
    """llama.cpp in its process."""

    def __init__(self, process: asyncio.subprocess.Process, told: Mapping[str, str]) -> None:
        self._process = process
        self.told = told  # its version, and what it says of the processor

    async def ask(self, ids: Sequence[int], tokens: int, *, cold: bool) -> Timed:
        """Generate; the times are taken there."""
        request = {"ids": list(ids), "tokens": tokens, "cold": cold}
        line = await _exchange(self._process, json.dumps(request).encode() + b"\n")
        got = json.loads(line)
        return Timed(got["token_ms"][0], got["token_ms"][-1], tuple(got["ids"]), len(got["ids"]))


async def _exchange(process: asyncio.subprocess.Process, line: bytes = b"") -> bytes:
    """Send a line and read one. Raises: CodeserveError when the process is gone."""
    if process.stdin is None or process.stdout is None:
        raise CodeserveError("llama.cpp's process has no pipes")
    process.stdin.write(line)
    answer = await process.stdout.readline()
    if not answer:
        code = await process.wait()
        raise CodeserveError(f"llama.cpp ended with code {code}; what it printed above may say why")
    return answer


@contextlib.asynccontextmanager
async def llama_cpp(path: Path, threads: int, context_tokens: int) -> AsyncIterator[LlamaCpp]:
    """llama.cpp with a GGUF file, ended in the end. Raises: CodeserveError when it does not come up."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "codeserve.bench.llama_cpp.worker"),
        *(str(path), str(threads), str(context_tokens)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    try:
        yield LlamaCpp(process, json.loads(await _exchange(process)))
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


async def _engine(server: Serving, ids: Sequence[int], tokens: int) -> Timed:
    run = await ask(server.engine, ids, tokens)
    return Timed(run.ttft_ms, run.token_ms[-1], run.token_ids, len(run.token_ms))


async def _served(server: Serving, source: CompletionInput, tokens: int) -> Timed:
    """Ask as an editor does, and time it there."""
    began = time.perf_counter()
    handle = server.client.complete(
        document=source.path,
        path=source.path,
        prefix=source.prefix,
        suffix=source.suffix,
        mode="block",
        max_tokens=tokens,
        deadline_ms=60_000,
    )
    first: float | None = None
    async for _ in handle:
        first = first if first is not None else (time.perf_counter() - began) * 1000
    done = await handle.result()
    total = (time.perf_counter() - began) * 1000
    return Timed(first if first is not None else total, total, (), done.tokens.output)


async def _round(
    server: Serving, llama: LlamaCpp, source: CompletionInput, plan: ComparePlan, number: int
) -> dict[str, dict[str, Timed]]:
    """One prompt, cold and again, by each; who begins changes."""
    ids = server.builder.build(source).token_ids

    async def of(who: str, *, cold: bool) -> Timed:
        if who == "llama_cpp":
            return await llama.ask(ids, plan.tokens, cold=cold)
        if cold:
            await server.forget()
        if who == "engine":
            return await _engine(server, ids, plan.tokens)
        return await _served(server, source, plan.tokens)

    turned = _WHO[number % 3 :] + _WHO[: number % 3]
    return {who: {"cold": await of(who, cold=True), "warm": await of(who, cold=False)} for who in turned}


def _median(values: Iterable[float]) -> float | None:
    return percentile(values, 50)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _times(timed: Timed) -> dict[str, float]:
    return {"first_ms": timed.first_ms, "total_ms": timed.total_ms}


def summary(rounds: Sequence[Mapping[str, Mapping[str, Timed]]], tokens: int) -> dict[str, Any]:
    """Medians by who and how, ratios, and how far the greedy texts are the same.

    A prompt counts where all three brought ``tokens`` tokens each time, so that they did the same work.
    """
    counted = [
        one for one in rounds if all(timed.tokens == tokens for who in one.values() for timed in who.values())
    ]

    def median(who: str, how: str, field: str) -> float | None:
        return _median(getattr(one[who][how], field) for one in counted)

    figures: dict[str, Any] = {
        who: {
            how: {field: median(who, how, field) for field in ("first_ms", "total_ms")}
            for how in ("cold", "warm")
        }
        for who in _WHO
    }
    theirs = figures["llama_cpp"]
    same = [
        next(
            (place for place, (one, other) in enumerate(zip(ours, others, strict=True)) if one != other),
            tokens,
        )
        for ours, others in ((one["engine"]["cold"].ids, one["llama_cpp"]["cold"].ids) for one in counted)
    ]
    return {
        "prompts_counted": len(counted),
        "medians": figures,
        "cold_times_faster": {
            who: _ratio(theirs["cold"]["total_ms"], figures[who]["cold"]["total_ms"])
            for who in ("served", "engine")
        },
        "warm_times_as_long": {
            who: _ratio(figures[who]["warm"]["total_ms"], theirs["warm"]["total_ms"])
            for who in ("served", "engine")
        },
        "greedy_ids_all_the_same": sum(length == tokens for length in same),
        "greedy_ids_same_from_the_start_mean": sum(same) / len(same) if same else None,
    }


async def run_compare(preset: Preset, plan: ComparePlan) -> dict[str, Any]:
    """Convert the weights, start both, ask in turn, and return the report.

    Raises: ConfigError, EngineStartError, CodeserveError when one of them does not come up.
    """
    threads = len(affinity())
    found = places(Corpus(find_files(plan.files)), plan.prompts + 1, plan.prompt_tokens, plan.seed, "block")
    with tempfile.TemporaryDirectory(prefix="codeserve-bench-") as folder:
        path = Path(folder) / "model.gguf"
        await asyncio.to_thread(write_gguf, Path(preset.model), path, plan.kind)
        async with (
            serving(preset, VllmEngine(preset)) as server,
            llama_cpp(path, threads, preset.context_tokens) as llama,
        ):
            await _round(server, llama, found[-1], plan, 0)  # what is set up only now
            rounds = [await _round(server, llama, one, plan, number) for number, one in enumerate(found[:-1])]
            lengths = [len(server.builder.build(one).token_ids) for one in found[:-1]]
    return {
        "benchmark": "llama-cpp",
        "model": preset.label,
        "engine": server.engine.info.engine,
        "speculation": server.engine.info.speculation,
        "llama_cpp": dict(llama.told),
        "threads": threads,
        "plan": attrs.asdict(plan),
        "prompt_tokens_median": _median(lengths),
        **summary(rounds, plan.tokens),
        "rounds": [
            {who: {how: _times(timed) for how, timed in of.items()} for who, of in one.items()}
            for one in rounds
        ],
    }
