"""The comparison, with an engine that plays a script and a stand-in for llama.cpp's library."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest

from codeserve.bench.llama_cpp import compare
from codeserve.bench.llama_cpp.compare import ComparePlan, Timed, llama_cpp, run_compare, summary
from codeserve.bench.llama_cpp.worker import answer
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.preset import Preset
from codeserve.engine.presets import resolve_model
from codeserve.errors import CodeserveError
from tests.engine.models import MINI
from tests.scripted_engine import ScriptedEngine

LIBRARY = """
__version__ = "0.0.1"

def llama_print_system_info():
    return b"AVX512 = 1"

class Llama:
    def __init__(self, path, n_ctx, n_threads, n_threads_batch, verbose):
        self.kept = 0
        self.threads = (n_threads, n_threads_batch)

    def reset(self):
        self.kept = 0

    def generate(self, ids, temp):
        assert temp == 0.0
        yield from (len(ids), self.kept, *self.threads, *range(100))
        raise AssertionError("more than was asked for")
"""


def timed(total_ms: float, ids: tuple[int, ...] = (1, 2, 3), tokens: int = 3) -> Timed:
    return Timed(total_ms / 2, total_ms, ids, tokens)


def test_summary() -> None:
    """Medians and ratios are over the prompts at which all did the same work."""
    rounds = [
        {
            "served": {"cold": timed(cold + 10), "warm": timed(60)},
            "engine": {"cold": timed(cold), "warm": timed(50)},
            "llama_cpp": {"cold": timed(4 * cold, (1, 2, third)), "warm": timed(40)},
        }
        for cold, third in ((100.0, 3), (90.0, 4), (110.0, 3))
    ]
    short = {who: {how: timed(1.0, tokens=2) for how in ("cold", "warm")} for who in rounds[0]}
    found = summary([*rounds, short], 3)
    assert found["prompts_counted"] == 3
    assert found["medians"]["engine"]["cold"] == {"first_ms": 50.0, "total_ms": 100.0}
    assert found["cold_times_faster"] == {"served": pytest.approx(400 / 110), "engine": 4.0}
    assert found["warm_times_as_long"] == {"served": 1.5, "engine": 1.25}
    assert found["greedy_ids_all_the_same"] == 2
    assert found["greedy_ids_same_from_the_start_mean"] == pytest.approx(8 / 3)


def test_nothing_to_count() -> None:
    """Where no prompt brought all tokens there are no figures."""
    found = summary([], 16)
    assert found["prompts_counted"] == 0
    assert found["warm_times_as_long"] == {"served": None, "engine": None}


async def test_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """llama.cpp is asked in its own process, with so many threads, and ended in the end."""
    (tmp_path / "llama_cpp.py").write_text(LIBRARY)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:.")
    async with llama_cpp(tmp_path / "model.gguf", 3, 4096) as llama:
        assert llama.told == {"version": "0.0.1", "system": "AVX512 = 1"}
        got = await llama.ask([5, 6], 6, cold=True)
    assert got.ids == (2, 0, 3, 3, 0, 1)
    assert got.tokens == 6
    assert 0 < got.first_ms <= got.total_ms


async def test_process_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that cannot load the file is one line."""
    (tmp_path / "llama_cpp.py").write_text("raise SystemExit(1)")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:.")
    with pytest.raises(CodeserveError, match=r"llama\.cpp ended with code 1"):
        async with llama_cpp(tmp_path / "model.gguf", 2, 4096):
            pass


def test_cold_forgets() -> None:
    """Only a cold request empties the KV cache first."""

    @attrs.define
    class Model:
        resets: int = 0

        def reset(self) -> None:
            self.resets += 1

        def generate(self, ids: list[int], temp: float) -> list[int]:
            return [7, 8, 9]

    model = Model()
    assert answer(model, [1], 2, cold=False)["ids"] == [7, 8]
    assert model.resets == 0
    assert len(answer(model, [1], 2, cold=True)["token_ms"]) == 2
    assert model.resets == 1


async def test_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each prompt is asked six times, the same ids of both engines, and cold ones of an empty cache."""

    class Engine(ScriptedEngine):
        emptied = 0

        async def administer(self, lever: str, seconds: float) -> str:
            assert lever == "reset-cache"
            self.emptied += 1
            return "done"

    engine = Engine(Tokenizer.load(MINI))
    engine.play("a = 1\nb = 2\nc = 3\nd = 4\n")
    asked: list[tuple[list[int], bool]] = []
    written: list[Path] = []

    @attrs.define
    class Llama:
        told: dict[str, str] = attrs.field(factory=lambda: {"version": "0"})

        async def ask(self, ids: list[int], tokens: int, *, cold: bool) -> Timed:
            asked.append((ids, cold))
            return Timed(1.0, 2.0, tuple(range(tokens)), tokens)

    @contextlib.asynccontextmanager
    async def library(path: Path, threads: int, context_tokens: int) -> AsyncIterator[Any]:
        assert path in written
        yield Llama()

    def converted(folder: Path, target: Path, kind: str) -> None:
        assert kind == "bf16"
        written.append(target)

    def of(preset: Preset) -> Engine:
        return engine

    monkeypatch.setattr(compare, "VllmEngine", of)
    monkeypatch.setattr(compare, "llama_cpp", library)
    monkeypatch.setattr(compare, "write_gguf", converted)
    (tmp_path / "code.py").write_text("\n".join(f"value_{number} = {number}" for number in range(2000)))
    preset = attrs.evolve(resolve_model("mini-codellama")[0], model=MINI)
    plan = ComparePlan(prompts=2, prompt_tokens=300, tokens=8, files=(str(tmp_path / "*.py"),))
    report = await run_compare(preset, plan)
    assert report["prompts_counted"] == 2
    assert len(report["rounds"]) == 2
    assert [cold for _, cold in asked] == [True, False] * 3
    prompts = [request.prompt_token_ids for request in engine.requests]
    assert sorted(prompts) == sorted([ids for ids, _ in asked] * 2)
    assert engine.emptied == 6
    assert all(request.max_tokens == 8 for request in engine.requests)
    assert json.loads(orjson.dumps(report))["medians"]["served"]["warm"]["total_ms"] > 0
