"""The whole benchmark against a scripted server, and its report for people."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import attrs
import pytest
from rich.console import Console
from websockets.exceptions import ConnectionClosed

from codeserve.bench.machine import machine, versions
from codeserve.bench.quality import hosting
from codeserve.bench.quality.infilling import Case, compare, summarise
from codeserve.bench.quality.problems import Problem, load_problems, sample
from codeserve.bench.quality.run import PARTS, Progress, QualityPlan, run_quality
from codeserve.bench.quality.tables import tables
from codeserve.completion.tokens import Tokenizer
from codeserve.errors import ConfigError
from tests.scripted_engine import ScriptedEngine
from tests.scripted_server import Peer, ScriptedServer, done

MODEL = Path(__file__).parents[3] / "models" / "mini-codellama"
MODULE = "from pkg.base import Base\n\n\nclass Thing{n}(Base):\n" + "".join(
    f"    def method_{i}(self, value):\n        return self.total + value * {i}\n" for i in range(20)
)
BASE = "class Base:\n" + "".join(f"    def base_{i}(self):\n        return {i}\n" for i in range(20))


class Solver:
    """Fills a hole as its problem's author did, where it knows the problem; else with ``guess``."""

    def __init__(self, problems: list[Problem], guess: str = "", **limits: int) -> None:
        self._limits = limits
        self.requests: list[dict[str, Any]] = []
        self._solutions = {problem.prefix: problem.solution.rstrip() for problem in problems}
        self._guess = guess

    async def __call__(self, peer: Peer) -> None:
        await peer.welcome(**self._limits)
        try:
            while True:
                body = await peer.receive("complete")
                self.requests.append(body)
                text = self._solutions.get(body["prefix"], self._guess)
                finish = "stop" if text else "no_suggestion"
                await peer.send(**done(body["id"], text, finish), confidence=-0.5)
        except ConnectionClosed:
            return


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A project of six modules."""
    folder = tmp_path / "project" / "pkg"
    folder.mkdir(parents=True)
    (folder / "base.py").write_text(BASE)
    for number in range(5):
        (folder / f"thing{number}.py").write_text(MODULE.replace("{n}", str(number)))
    return tmp_path


async def run(plan: QualityPlan, solver: Solver) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run against the solver."""
    async with ScriptedServer(solver) as server:
        return await run_quality(plan, url=server.url, model="")


async def test_right_answers_pass() -> None:
    """Solutions pass and match; the server is asked in line mode, with the cursor on a blank line."""
    problems = sample(load_problems("single-line"), 6, 0)
    solver = Solver(problems[:4], guess="    raise ValueError")
    report, cases = await run(QualityPlan(parts=("single-line",), limit=6), solver)
    figures = report["parts"]["single-line"]["models"]["served"]
    assert figures["pass_at_1"]["hits"] == figures["exact_match"]["hits"] == 4
    assert figures["outcomes"] == {"stop": 6}
    assert len(cases) == 6
    assert {request["mode"] for request in solver.requests} == {"line"}
    assert {request["suffix"][:1] for request in solver.requests} == {"\n"}
    assert report["parts"]["single-line"]["confidence"][0]["threshold"] == -0.5


async def test_every_part_reports(corpus: Path) -> None:
    """All parts run over a folder of files, are counted, and make tables."""
    begun: list[tuple[str, int]] = []
    progress = Progress(begin=lambda part, total: begun.append((part, total)))
    plan = QualityPlan(limit=3, corpus=corpus)
    async with ScriptedServer(Solver([], guess="return self.total")) as server:
        report, cases = await run_quality(plan, url=server.url, model="", progress=progress)
    assert tuple(report["parts"]) == PARTS
    assert dict(begun)["multi-line"] == 3
    assert report["parts"]["lines"]["models"]["served"]["pass_at_1"] is None
    replayed = report["parts"]["replay"]["all"]
    assert replayed["shown"] > 0
    assert replayed["places"] == 3
    assert report["parts"]["context"]["files"] >= 1
    assert report["parts"]["context"]["snippet_characters"] > 0
    assert {case["part"] for case in cases} == set(PARTS)
    printed = io.StringIO()
    console = Console(file=printed, width=200)
    for table in tables(report | {"machine": machine(), "versions": versions()}):
        console.print(table)
    for word in ("single-line", "line exact", "context of other files", "scripted"):
        assert word in printed.getvalue()


async def test_context_is_sent_in_one_of_two_runs(corpus: Path) -> None:
    """The same lines and places are asked with the snippets of other files and without."""
    solver = Solver([], guess="x")
    report, _ = await run(QualityPlan(parts=("context",), limit=2, corpus=corpus), solver)
    with_it = [request for request in solver.requests if request["snippets"]]
    without = [request for request in solver.requests if not request["snippets"]]
    assert {request["prefix"] for request in with_it} == {request["prefix"] for request in without}
    assert any("class Base" in one["text"] for request in with_it for one in request["snippets"])
    assert report["parts"]["context"]["lines"]["paired"]["exact_match"]["p"] == 1


async def test_context_where_the_server_leaves_it_out(corpus: Path) -> None:
    """It cannot be measured: the run ends at once and says what to do. Other parts can."""
    with pytest.raises(ConfigError, match="--snippet-tokens 1024"):
        await run(QualityPlan(limit=1, corpus=corpus), Solver([], snippet_tokens=0))
    report, _ = await run(QualityPlan(("lines",), limit=1, corpus=corpus), Solver([], snippet_tokens=0))
    assert report["parts"]["lines"]


async def test_context_of_an_engine_here(monkeypatch: pytest.MonkeyPatch, corpus: Path) -> None:
    """What other files say goes into the prompts of the bundled model where that is what is measured."""
    engine = ScriptedEngine(Tokenizer.load(MODEL))
    engine.play("x")
    monkeypatch.setattr("codeserve.engine.vllm_engine.VllmEngine", lambda preset: engine)
    await run_quality(QualityPlan(("context",), limit=1, corpus=corpus), url=None, model="mini-codellama")
    path = engine.tokenizer.encode("# Path:")
    starts = [
        ids[ids.index(32009) + 1 :][: len(path)] for ids in (one.prompt_token_ids for one in engine.requests)
    ]
    assert 0 < starts.count(path) < len(starts)


async def test_same_seed_same_places(corpus: Path) -> None:
    """A run can be repeated: the seed chooses lines and places."""
    plan = QualityPlan(parts=("lines", "replay"), limit=4, corpus=corpus, at_once=1)
    asked = []
    for seed in (0, 0, 1):
        solver = Solver([])
        await run(attrs.evolve(plan, seed=seed), solver)
        asked.append([request["prefix"] for request in solver.requests])
    assert asked[0] == asked[1] != asked[2]


async def test_interrupted(corpus: Path) -> None:
    """Cancelled in its second part, a run reports the first; in its first part there is nothing to report."""

    async def cancelled_at(name: str) -> dict[str, Any]:
        def begin(part: str, total: int) -> None:
            if part == name:
                work.cancel()

        plan = QualityPlan(parts=("lines", "replay"), limit=2, corpus=corpus)
        async with ScriptedServer(Solver([])) as server:
            work = asyncio.create_task(run_quality(plan, url=server.url, model="", progress=Progress(begin)))
            report, _ = await work
            return report

    report = await cancelled_at("replay")
    assert list(report["parts"]) == ["lines"]
    assert report["interrupted"]
    with pytest.raises(asyncio.CancelledError):
        await cancelled_at("lines")


async def test_no_corpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the held-out packages one line says how to get them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="bench heldout"):
        await run(QualityPlan(parts=("lines",), limit=1), Solver([]))


async def test_model_alone_beside_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an engine here, the same problems go to the model in each format, and are paired."""
    engine = ScriptedEngine(Tokenizer.load(MODEL))
    engine.play("    return None\n")
    monkeypatch.setattr("codeserve.engine.vllm_engine.VllmEngine", lambda preset: engine)
    plan = QualityPlan(parts=("single-line",), limit=3, raw_formats=("codellama-psm",))
    report, cases = await run_quality(plan, url=None, model="mini-codellama")
    assert report["model"] == "scripted"
    assert [case["model"] for case in cases[:3]] == ["served", "raw codellama-spm", "raw codellama-psm"]
    assert {case["text"] for case in cases} == {"    return None"}
    paired = report["parts"]["single-line"]["paired"]
    assert set(paired) == {"raw codellama-spm", "raw codellama-psm"}
    assert paired["raw codellama-spm"]["pass_at_1"]["only_second"] == 0
    assert engine.closed


def test_hosting_ignores_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables do not change what is measured; only loopback is listened on."""
    monkeypatch.setenv("CODESERVE_CONTEXT_TOKENS", "512")
    monkeypatch.setenv("CODESERVE_HOST", "0.0.0.0")
    settings = hosting._settings("mini-codellama", None)
    assert (settings.host, settings.port, settings.context_tokens) == ("127.0.0.1", 0, None)


def case(model: str, *, right: bool, language: str = "python") -> Case:
    """A case that is right in every way, or in none."""
    return Case("p", model, "x", "x", "stop", 1.0, right, float(right), right, "", language)


def test_summary_by_language_and_pairs() -> None:
    """Languages have rows of their own; pairs tell who alone was right."""
    cases = [
        *(case("served", right=right) for right in (True, False, True)),
        *(case("raw", right=right) for right in (True, True, False)),
        case("served", right=True, language="typescript"),
        case("raw", right=False, language="typescript"),
    ]
    figures = summarise(cases)
    assert figures["models"]["served"]["pass_at_1"]["share"] == 0.75
    assert figures["by_language"]["typescript"]["raw"]["exact_match"]["share"] == 0
    assert figures["paired"]["raw"]["pass_at_1"]["only_second"] == 2
    assert compare([], []) == {
        "exact_match": {"both": 0, "only_first": 0, "only_second": 0, "neither": 0, "p": 1.0}
    }
