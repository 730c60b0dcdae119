"""``codeserve bench floor``: how far the engine is from what the hardware allows."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

from codeserve.bench.direct import Run, ask_together, running
from codeserve.bench.limits import Limits, Rates, arithmetic
from codeserve.bench.stats import percentile
from codeserve.engine.folder import read_config, weight_bytes
from codeserve.engine.memory import need_of
from codeserve.engine.preset import Preset
from codeserve.engine.shape import shape_of
from codeserve.engine.vllm_engine import VllmEngine

__all__ = ["FloorPlan", "run_floor"]

_LINE_TOKENS = 12
_OUTPUT_TOKENS = 32
_TYPED_TOKENS = 3  # between two warm requests
_LOWEST_ID, _HIGHEST_ID = 100, 31_000  # of tokens that are plain text in every vocabulary here


@attrs.frozen
class FloorPlan:
    """What is measured: by batch size, prompts of so many tokens, and each of it so many times."""

    batches: Sequence[int] = (1, 2, 4, 8, 16, 32, 64)
    prompt_tokens: int = 4000
    rounds: int = 5
    seed: int = 0


def _limits(preset: Preset, rates: Rates | None) -> Limits | None:
    """By the rates of one card. Tensor parallel ones read and compute their parts at the same time, those of
    a pipeline one after the other.
    """
    folder = Path(preset.model)
    config = read_config(folder)
    shape = preset.shape or shape_of(config)
    weights = None if preset.load_format == "dummy" else weight_bytes(folder, float32=preset.float32)
    need = need_of(preset, config=config, weights=weights)
    if rates is None or shape is None or need is None:
        return None
    return Limits(shape, need, rates.times(preset.tensor_parallel), arithmetic(preset, config))


def _middle(values: Iterable[float | None]) -> float | None:
    return percentile((value for value in values if value is not None), 50)


def _figures(runs: Sequence[Run]) -> dict[str, float | None]:
    return {
        "ttft_ms_p50": _middle(run.ttft_ms for run in runs),
        "ttft_ms_p95": percentile((run.ttft_ms for run in runs), 95),
        "tpot_ms_p50": _middle(run.tpot_ms for run in runs),
        "line_ms_p50": _middle(run.total_ms(_LINE_TOKENS) for run in runs),
        "line_ms_p95": percentile((run.total_ms(_LINE_TOKENS) or 0.0 for run in runs), 95),
        "cached_tokens": _middle(float(run.cached_tokens) for run in runs),
    }


async def _batch(
    engine: VllmEngine, plan: FloorPlan, batch: int, limits: Limits | None, rng: random.Random
) -> dict[str, Any]:
    """One line of the table."""

    def tokens(number: int) -> list[int]:
        return [rng.randrange(_LOWEST_ID, _HIGHEST_ID) for _ in range(number)]

    cold: list[Run] = []
    warm: list[Run] = []
    for _ in range(plan.rounds):
        prompts = [tokens(plan.prompt_tokens) for _ in range(batch)]
        cold += await ask_together(engine, prompts, _LINE_TOKENS)
        for _ in range(2):
            prompts = [prompt + tokens(_TYPED_TOKENS) for prompt in prompts]
            warm += await ask_together(engine, prompts, _OUTPUT_TOKENS)
    step = limits.step_ms(batch, plan.prompt_tokens) if limits else None
    prefill = limits.prefill_ms(batch, plan.prompt_tokens) if limits else None
    return {
        "batch": batch,
        "cold": _figures(cold),
        "warm": _figures(warm),
        "limit": {
            "cold_ttft_ms": prefill,
            "warm_ttft_ms": step,
            "tpot_ms": step,
            "line_ms": None if step is None else step * _LINE_TOKENS,
        },
    }


async def run_floor(preset: Preset, plan: FloorPlan, rates: Rates | None) -> dict[str, Any]:
    """Start an engine for the preset, measure, and return the report.

    Cold prompts are new; warm ones are the same with three tokens more. Of ``batch`` prompts at a time each
    has its own times; without ``rates``, of one card, nothing is said of limits.
    Raises: ConfigError, EngineStartError; RequestError for prompts that do not fit the context.
    """
    rng = random.Random(plan.seed)
    limits = _limits(preset, rates)
    async with running(preset) as engine:
        await _batch(engine, attrs.evolve(plan, rounds=1), 1, None, rng)  # what is compiled only now
        rows = [await _batch(engine, plan, batch, limits, rng) for batch in plan.batches]
        info = engine.info
    return {
        "benchmark": "floor",
        "model": info.model,
        "engine": info.engine,
        "weights": "dummy" if preset.load_format == "dummy" else "real",
        "plan": attrs.asdict(plan),
        "line_tokens": _LINE_TOKENS,
        "tensor_parallel": preset.tensor_parallel,
        "rates": attrs.asdict(rates) if rates else None,
        "batches": rows,
    }
