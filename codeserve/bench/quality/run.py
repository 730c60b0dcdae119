"""``codeserve bench quality``: all of its parts, one after the other, against one server."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import attrs

from codeserve.bench.quality.ask import Asker, ServedModel
from codeserve.bench.quality.crossfile import listening, neighbours
from codeserve.bench.quality.heldout import cache_folder, corpus_folder, read_packages
from codeserve.bench.quality.hosting import hosted
from codeserve.bench.quality.infilling import SERVED, Case, Judge, compare, gather, run_infilling, summarise
from codeserve.bench.quality.problems import Problem, ProblemSet, line_problem, load_problems, sample
from codeserve.bench.quality.replay import Writing, replay
from codeserve.bench.quality.sandbox import Sandbox
from codeserve.bench.quality.sources import Source, choose, read_sources
from codeserve.bench.quality.spots import Spot, choose_spot
from codeserve.bench.quality.tally import compare as compare_writings
from codeserve.bench.quality.tally import tally
from codeserve.client import Client
from codeserve.errors import ConfigError
from codeserve.protocol import MIN_CONFIDENCE, Mode, Snippet

__all__ = ["PARTS", "Part", "QualityPlan", "run_quality"]

Part = Literal["single-line", "multi-line", "lines", "replay", "context"]
PARTS: tuple[Part, ...] = ("single-line", "multi-line", "lines", "replay", "context")

# What a run takes when it is not told otherwise: minutes a part on two cores. None is all.
_DEFAULT_LIMIT: dict[Part, int | None] = {
    "single-line": None,
    "multi-line": 200,
    "lines": 240,
    "replay": 40,
    "context": 16,
}
_MODES: dict[Part, Mode] = {"single-line": "line", "multi-line": "block", "lines": "line"}
_PROJECT_FILES = 5  # that a package must have to be a project
_LINES_A_FILE = 5  # of the files of projects


@attrs.frozen
class QualityPlan:
    """What to run. ``deadline_ms`` is long by default: a slow machine must not make the texts worse."""

    parts: tuple[Part, ...] = PARTS
    limit: int | None = None  # of problems, lines, places and files, of each part
    seed: int = 0
    at_once: int = 8
    deadline_ms: int = 60_000
    min_confidence: float = MIN_CONFIDENCE
    mode: Mode = "auto"  # of the replay
    raw_formats: tuple[str, ...] = ()
    corpus: Path | None = None


@attrs.define
class Progress:
    """Told how far a run is."""

    begin: Callable[[str, int], None] = lambda part, total: None
    step: Callable[[], None] = lambda: None


class _Run:
    """One run: what its parts share."""

    def __init__(self, plan: QualityPlan, models: dict[str, Asker], progress: Progress) -> None:
        self.plan = plan
        self.models = models
        self.progress = progress
        self.sandbox = Sandbox()
        self.cases: list[dict[str, Any]] = []
        self._root: Path | None = None
        self._sources: list[Source] = []

    def limit(self, part: Part) -> int | None:
        return _DEFAULT_LIMIT[part] if self.plan.limit is None else self.plan.limit

    @property
    def sources(self) -> list[Source]:
        if not self._sources:
            self._sources = read_sources(self.root)
        return self._sources

    @property
    def root(self) -> Path:
        if self._root is None:
            self._root = self.plan.corpus or corpus_folder(read_packages(), cache_folder())
        return self._root

    async def part(self, part: Part) -> dict[str, Any]:
        rng = random.Random(f"{self.plan.seed}-{part}")
        began = time.monotonic()
        if part == "single-line" or part == "multi-line":
            figures = await self._humaneval(part)
        elif part == "lines":
            chosen = choose(self.sources, self.limit(part) or 0, rng)
            figures = summarise(await self._fill(part, [line_problem(source, rng) for source in chosen]))
        elif part == "replay":
            figures = tally(await self._write(part, _spots(self.sources, self.limit(part) or 0, rng), {}))
        else:
            figures = await self._context(rng)
        return figures | {"seconds": round(time.monotonic() - began, 1)}

    async def _humaneval(self, part: ProblemSet) -> dict[str, Any]:
        barriers = await self.sandbox.try_out()
        problems = sample(load_problems(part), self.limit(part), self.plan.seed)
        return summarise(await self._fill(part, problems)) | {"sandbox": barriers}

    async def _fill(
        self, part: Part, problems: Sequence[Problem], snippets: dict[str, tuple[Snippet, ...]] | None = None
    ) -> list[Case]:
        models = self.models if snippets is None else {SERVED: self.models[SERVED]}
        judge = Judge(models, _MODES.get(part, "line"), self.sandbox, snippets)
        self.progress.begin(part, len(problems))
        cases = await run_infilling(problems, judge, at_once=self.plan.at_once, on_case=self.progress.step)
        self.cases += [{"part": part, "snippets": bool(snippets), **attrs.asdict(case)} for case in cases]
        return cases

    async def _write(
        self, part: Part, spots: Sequence[Spot], snippets: dict[str, tuple[Snippet, ...]]
    ) -> list[Writing]:
        async def write(spot: Spot) -> Writing:
            found = snippets.get(spot.source.path, ())
            return await replay(spot, self.models[SERVED], mode=self.plan.mode, snippets=found)

        self.progress.begin(part, len(spots))
        done: list[Writing] = await gather(
            spots, write, at_once=self.plan.at_once, on_case=self.progress.step
        )
        self.cases += [{"part": part, "snippets": bool(snippets), **attrs.asdict(one)} for one in done]
        return done

    async def _context(self, rng: random.Random) -> dict[str, Any]:
        """The same places and lines with the other files' snippets and without."""
        chosen, snippets = await self._projects(self.limit("context") or 0, rng)
        lines = [line_problem(source, rng) for source in chosen for _ in range(_LINES_A_FILE)]
        spots = [spot for source in chosen if (spot := choose_spot(source, rng)) is not None]
        filled = [await self._fill("context", lines, some) for some in ({}, snippets)]
        written = [await self._write("context", spots, some) for some in ({}, snippets)]
        characters = [sum(len(each.text) for each in some) for some in snippets.values()]
        return {
            "files": len(chosen),
            "snippet_characters": round(sum(characters) / len(characters)) if characters else 0,
            "lines": {
                "without": summarise(filled[0])["models"],
                "with": summarise(filled[1])["models"],
                "paired": compare(*filled),
            },
            "replay": {
                name: tally(some)["all"] for name, some in zip(("without", "with"), written, strict=True)
            }
            | {"gain": compare_writings(*written)},
        }

    async def _projects(
        self, count: int, rng: random.Random
    ) -> tuple[list[Source], dict[str, tuple[Snippet, ...]]]:
        """So many different files that the language server has snippets for, of packages with some files."""
        sizes: dict[str, int] = {}
        for source in self.sources:
            sizes[source.package] = sizes.get(source.package, 0) + 1
        able = [source for source in self.sources if sizes[source.package] >= _PROJECT_FILES]
        drawn = list({source.path: source for source in choose(able, 2 * count, rng)}.values())[:count]
        self.progress.begin("context: snippets", len(drawn))
        found: dict[str, tuple[Snippet, ...]] = {}
        for package in dict.fromkeys(source.package for source in drawn):
            async with listening(self.root, self.root / package) as listener:
                for source in [each for each in drawn if each.package == package]:
                    found[source.path] = await listener.snippets(source, neighbours(source, self.sources))
                    self.progress.step()
        return [source for source in drawn if found[source.path]], found


def _spots(sources: Sequence[Source], count: int, rng: random.Random) -> list[Spot]:
    return [spot for source in choose(sources, count, rng) if (spot := choose_spot(source, rng)) is not None]


async def run_quality(
    plan: QualityPlan,
    *,
    url: str | None,
    model: str,
    config: Path | None = None,
    token: str | None = None,
    ca_file: Path | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run the plan; returns the report, ready for JSON, and every case.

    Cancelled, it gives the parts that are done. ``url`` is a running server; None starts an engine of
    ``model`` here, which can be asked without the server too.
    Raises: ConfigError for what cannot be used or measured, ConnectFailed without a server, EngineStartError.
    """
    started = datetime.now(UTC)
    async with contextlib.AsyncExitStack() as stack:
        models: dict[str, Asker] = {}
        if url is None:
            hosting = hosted(model, config, plan.raw_formats, snippets="context" in plan.parts)
            host = await stack.enter_async_context(hosting)
            url = host.url
            models = {f"raw {name}": raw for name, raw in host.raw.items()}
        client = Client(url, token=token, ca_file=ca_file, name="codeserve-bench")
        await stack.enter_async_context(client)
        welcome = await client.wait_ready()
        if "context" in plan.parts and welcome.limits.snippet_tokens == 0:
            raise ConfigError(
                "this server leaves out what other files say, so that it cannot be measured: start it with "
                "--snippet-tokens 1024, or name the other parts only"
            )
        models = {
            SERVED: ServedModel(client, deadline_ms=plan.deadline_ms, min_confidence=plan.min_confidence),
            **models,
        }
        run = _Run(plan, models, progress or Progress())
        parts: dict[str, dict[str, Any]] = {}
        interrupted = False
        try:
            for part in plan.parts:
                parts[part] = await run.part(part)
        except asyncio.CancelledError:  # Ctrl+C: hours of figures are not thrown away
            interrupted = True
            if not parts:
                raise
    report = {
        "benchmark": "quality",
        "date": started.isoformat(timespec="seconds"),
        "model": welcome.model,
        "plan": attrs.asdict(plan) | {"corpus": str(plan.corpus) if plan.corpus else "held-out packages"},
        "parts": parts,
        "interrupted": interrupted,
    }
    return report, run.cases
