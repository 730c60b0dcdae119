"""Benchmarks on the engine itself, over a scripted one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest

from codeserve.bench import floor, speculation
from codeserve.bench.direct import ask
from codeserve.bench.floor import FloorPlan, run_floor
from codeserve.bench.limits import Rates
from codeserve.bench.speculation import SpeculationPlan, run_speculation
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.preset import Preset, Speculation
from codeserve.engine.presets import resolve_model
from codeserve.errors import EngineStartError
from tests.engine.models import MINI
from tests.scripted_engine import Pause, ScriptedEngine, Stall

RATES = Rates(1e12, 1e14, 2e14, 2e14)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Preset]:
    """Scripted engines take the real one's place; the presets that one was started for."""
    presets: list[Preset] = []

    @contextlib.asynccontextmanager
    async def running(preset: Preset) -> AsyncIterator[ScriptedEngine]:
        presets.append(preset)
        if preset.speculation is not None and preset.speculation.method == "eagle":
            raise EngineStartError("there is no such head")
        engine = ScriptedEngine(Tokenizer.load(MINI), prompt_cached=64)
        engine.play("".join(f"line {number}\n" for number in range(40)))
        yield engine

    monkeypatch.setattr(floor, "running", running)
    monkeypatch.setattr(speculation, "running", running)
    return presets


def mini() -> Preset:
    return resolve_model("mini-codellama")[0]


async def test_each_token_is_timed() -> None:
    """A pause in the middle shows in the tokens after it, and in the mean."""
    engine: Any = ScriptedEngine(Tokenizer.load(MINI))
    engine.play("a", Pause(0.1), "b")
    run = await ask(engine, [1, 2, 3], 10)
    assert run.prompt_tokens == 3
    assert run.token_ms[-1] - run.ttft_ms >= 99
    assert run.tpot_ms is not None
    assert run.tpot_ms >= 99 / (len(run.token_ms) - 1)
    assert run.total_ms(len(run.token_ms)) == run.token_ms[-1]
    assert run.total_ms(50) is None


async def test_an_answer_ends_where_it_is_told_to() -> None:
    """What comes after it is neither waited for nor counted."""
    engine: Any = ScriptedEngine(Tokenizer.load(MINI))
    engine.play("a", "b", Stall())
    seen: list[int] = []

    def ended(ids: tuple[int, ...]) -> bool:
        seen.extend(ids)
        return len(seen) >= 2

    run = await ask(engine, [1, 2, 3], 10, (), ended)
    assert run.token_ids == tuple(seen)
    assert len(run.token_ms) == 2
    assert not engine.live


async def test_floor(started: list[Preset]) -> None:
    """Cold and warm figures stand beside the limits, by batch size."""
    report = await run_floor(mini(), FloorPlan(batches=(1, 3), prompt_tokens=500, rounds=2), RATES)
    assert [row["batch"] for row in report["batches"]] == [1, 3]
    one, three = report["batches"]
    assert one["warm"]["ttft_ms_p50"] > 0
    assert one["warm"]["line_ms_p50"] >= one["warm"]["ttft_ms_p50"]
    assert one["cold"]["cached_tokens"] == 64
    assert 0 < one["limit"]["tpot_ms"] < three["limit"]["tpot_ms"]
    assert report["weights"] == "real"
    assert json.loads(orjson.dumps(report)) is not None
    assert len(started) == 1


async def test_floor_of_several_cards(started: list[Preset]) -> None:
    """Cards that share every matrix halve the limit; those of a pipeline, one after the other, do not."""
    plan = FloorPlan(batches=(1,), prompt_tokens=500, rounds=1)

    async def limit(**fields: int) -> float:
        report = await run_floor(attrs.evolve(mini(), **fields), plan, RATES)
        return float(report["batches"][0]["limit"]["tpot_ms"])

    one = await limit()
    assert await limit(tensor_parallel=2) == pytest.approx(one / 2)
    assert await limit(pipeline_parallel=2) == one


async def test_floor_without_rates(started: list[Preset]) -> None:
    """On a card that is not known there is no limit to compare with."""
    report = await run_floor(mini(), FloorPlan(batches=(1,), prompt_tokens=500, rounds=1), None)
    assert report["batches"][0]["limit"]["tpot_ms"] is None


async def test_speculation(started: list[Preset], tmp_path: Path) -> None:
    """Each method is measured against none, on the same prompts; one that cannot run says why."""
    (tmp_path / "code.py").write_text("\n".join(f"value_{number} = {number}" for number in range(2000)))
    plan = SpeculationPlan(
        methods=(Speculation(method="ngram"), Speculation(method="eagle", model="org/e")),
        batches=(1, 2),
        prompts=3,
        prompt_tokens=500,
        files=(str(tmp_path / "*.py"),),
    )
    grown: list[Any] = []
    report = await run_speculation(mini(), plan, lambda row: grown.append(json.loads(orjson.dumps(row))))
    assert [preset.speculation and preset.speculation.method for preset in started] == [
        None,
        "ngram",
        "eagle",
    ]
    plain, ngram, eagle = report["methods"]
    assert plain["speculation"] is None
    assert [row["batch"] for row in ngram["batches"]] == [1, 2]
    assert ngram["batches"][0]["output_tokens"] == plain["batches"][0]["output_tokens"] > 30
    assert ngram["batches"][0]["mean_accepted_length"] == 1  # the scripted engine accepts nothing
    assert "no such head" in eagle["error"]
    rows = [[len(method["batches"]) for method in one["methods"]] for one in grown]
    assert rows == [[1], [2], [2, 1], [2, 2], [2, 2, 0]]  # the file of a run that is broken off
    assert [one["complete"] for one in grown] == [False] * 5
    assert report["complete"]
    assert json.loads(orjson.dumps(report)) is not None


async def test_suffix_decoding_sees_no_earlier_answers(started: list[Preset], tmp_path: Path) -> None:
    """It is measured on an engine of its own for each batch size, which has answered none of the prompts."""
    (tmp_path / "code.py").write_text("\n".join(f"value_{number} = {number}" for number in range(2000)))
    plan = SpeculationPlan(
        methods=(Speculation(method="suffix"),),
        batches=(1, 2),
        prompts=3,
        prompt_tokens=500,
        files=(str(tmp_path / "*.py"),),
    )
    report = await run_speculation(mini(), plan)
    methods = [preset.speculation and preset.speculation.method for preset in started]
    assert methods == [None, "suffix", "suffix"]
    assert [row["batch"] for row in report["methods"][1]["batches"]] == [1, 2]


async def test_speculation_on_what_is_served(started: list[Preset], tmp_path: Path) -> None:
    """What the model would write after the end of a completion is neither drafted nor counted."""
    (tmp_path / "code.py").write_text("\n".join(f"value_{number} = {number}" for number in range(2000)))
    plan = SpeculationPlan(
        methods=(), batches=(1,), prompts=3, prompt_tokens=500, mode="line", files=(str(tmp_path / "*.py"),)
    )
    report = await run_speculation(mini(), plan)
    assert 3 <= report["methods"][0]["batches"][0]["output_tokens"] <= 15  # a line each, of forty
