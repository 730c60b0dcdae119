"""``codeserve bench speculation``: what drafting brings by method and batch size, on real code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from codeserve.bench.corpus import Corpus, find_files, places
from codeserve.bench.direct import Run, ask, running
from codeserve.bench.stats import percentile
from codeserve.completion.prompt import Prompt
from codeserve.completion.stream import CompletionStream
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.preset import Preset, Speculation
from codeserve.engine.prompts import prompt_builder
from codeserve.engine.vllm_engine import VllmEngine
from codeserve.errors import ConfigError, EngineStartError
from codeserve.protocol import Mode

__all__ = ["SpeculationPlan", "run_speculation"]


@attrs.frozen
class SpeculationPlan:
    """What to compare: no speculation and each method, on the same prompts, by how many run at a time."""

    methods: Sequence[Speculation] = (Speculation(method="ngram"),)
    batches: Sequence[int] = (1, 4, 16)
    prompts: int = 32
    prompt_tokens: int = 1600
    mode: Mode = "block"
    fixed_tokens: int | None = None  # of each output; None: until the model ends
    files: Sequence[str] = ()
    seed: int = 0


def _prompts(preset: Preset, plan: SpeculationPlan, tokenizer: Tokenizer) -> list[Prompt]:
    builder = prompt_builder(preset, tokenizer, endless=plan.fixed_tokens is not None)
    corpus = Corpus(find_files(plan.files))
    sources = places(corpus, plan.prompts, plan.prompt_tokens, plan.seed, plan.mode, plan.fixed_tokens)
    return [builder.build(source) for source in sources]


async def _measure(
    engine: VllmEngine, tokenizer: Tokenizer, prompts: Sequence[Prompt], batch: int
) -> dict[str, Any]:
    """All prompts, ``batch`` of them at any time, each until the completion ends."""
    room = asyncio.Semaphore(batch)

    async def one(prompt: Prompt) -> Run:
        async with room:
            stream = CompletionStream(tokenizer, prompt)

            def ended(ids: tuple[int, ...]) -> bool:
                """Whether the server would end it here: what a model writes after that is too predictable."""
                stream.feed(ids)
                return stream.stopped

            return await ask(engine, prompt.token_ids, prompt.max_tokens, prompt.stop_token_ids, ended)

    began = asyncio.get_running_loop().time()
    runs = await asyncio.gather(*map(one, prompts))
    seconds = asyncio.get_running_loop().time() - began
    output = sum(len(run.token_ms) for run in runs)
    drafted, accepted = (
        sum(getattr(run, f"{name}_tokens") for run in runs) for name in ("drafted", "accepted")
    )
    later = sum(len(run.token_ms) - 1 for run in runs)
    decoding = sum(run.token_ms[-1] - run.token_ms[0] for run in runs if run.token_ms)
    return {
        "batch": batch,
        "output_tokens": output,
        "tokens_per_second": output / seconds,
        "tpot_ms_mean": decoding / later if later else None,
        "tpot_ms_p95": percentile((run.tpot_ms for run in runs if run.tpot_ms is not None), 95),
        "drafted_tokens": drafted,
        "accepted_tokens": accepted,
        "acceptance": accepted / drafted if drafted else None,
        # Each step brings a token of its own and those accepted, so the rest of them is the steps.
        "mean_accepted_length": output / (output - accepted) if output > accepted else None,
    }


def _words(speculation: Speculation) -> dict[str, Any]:
    """Its fields for a report; of a model's folder the name."""
    fields = attrs.asdict(speculation)
    return fields | {"model": Path(speculation.model).name if speculation.model else None}


async def _method(
    preset: Preset,
    plan: SpeculationPlan,
    speculation: Speculation | None,
    tokenizer: Tokenizer,
    prompts: Sequence[Prompt],
    row: dict[str, Any],
    grown: Callable[[], None],
) -> None:
    """Fill the row of one method, batch by batch.

    Suffix decoding proposes what earlier answers said too, and another batch's are to the same prompts: it
    gets an engine of its own for each batch size, and drafts from the answers of that one alone.
    """
    row["batches"] = []
    fresh = speculation is not None and speculation.method == "suffix"
    try:
        for batches in [[batch] for batch in plan.batches] if fresh else [plan.batches]:
            async with running(attrs.evolve(preset, speculation=speculation)) as engine:
                for prompt in prompts:
                    await ask(engine, prompt.token_ids, 1)  # only then is every prompt in the cache
                for batch in batches:
                    row["batches"].append(await _measure(engine, tokenizer, prompts, batch))
                    grown()
    except (ConfigError, EngineStartError) as exc:
        if speculation is None:
            raise
        row["error"] = str(exc)  # the others are measured all the same
        grown()


async def run_speculation(
    preset: Preset, plan: SpeculationPlan, on_row: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, Any]:
    """Start an engine for each method in turn and return the report; a method that cannot run has an error.

    ``on_row`` is called with the report as it stands after each row, so that a run that is broken off keeps
    what it has; ``complete`` in it is False until the end.
    Raises: ConfigError, EngineStartError when the engine cannot run without speculation either.
    """
    tokenizer = Tokenizer.load(Path(preset.model))
    prompts = _prompts(preset, plan, tokenizer)
    report = _report(preset, plan, prompts)

    def grown() -> None:
        if on_row is not None:
            on_row(report)

    for one in (None, *plan.methods):
        row: dict[str, Any] = {"speculation": None if one is None else _words(one)}
        report["methods"].append(row)
        await _method(preset, plan, one, tokenizer, prompts, row, grown)
    report["complete"] = True
    return report


def _report(preset: Preset, plan: SpeculationPlan, prompts: Sequence[Prompt]) -> dict[str, Any]:
    return {
        "benchmark": "speculation",
        "complete": False,
        "model": preset.label,
        "weights": "dummy" if preset.load_format == "dummy" else "real",
        "plan": attrs.asdict(plan) | {"methods": [_words(one) for one in plan.methods]},
        "prompt_tokens_mean": sum(len(prompt.token_ids) for prompt in prompts) / len(prompts),
        "methods": [],
    }
