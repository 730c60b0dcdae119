"""``codeserve bench quality``, ``pipeline`` and ``heldout``: how good completions are, and on which files."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codeserve.client import DEFAULT_URL
from codeserve.commands.bench_report import tell
from codeserve.commands.options import CaFile, CompletionMode, TokenFile, Url, read_token
from codeserve.errors import CodeserveError, ConfigError
from codeserve.protocol import MAX_DEADLINE_MS, MIN_CONFIDENCE

if TYPE_CHECKING:
    from codeserve.bench.quality.run import QualityPlan

__all__ = ["heldout", "pipeline", "quality"]


class QualityPart(StrEnum):
    """`codeserve.bench.quality.run.PARTS` as choices."""

    SINGLE_LINE = "single-line"
    MULTI_LINE = "multi-line"
    LINES = "lines"
    REPLAY = "replay"
    CONTEXT = "context"


def quality(
    parts: Annotated[
        list[QualityPart] | None, typer.Argument(help="What to measure.", show_default="all of it")
    ] = None,
    url: Url = DEFAULT_URL,
    spawn: Annotated[
        bool,
        typer.Option("--spawn", help="Start an engine and a server here, and ask the model alone too."),
    ] = False,
    model: Annotated[str, typer.Option(help="With --spawn: the preset or model folder.")] = "mini-codellama",
    config: Annotated[
        Path | None, typer.Option(help="With --spawn: the server's settings file.", show_default=False)
    ] = None,
    raw_format: Annotated[
        list[str] | None,
        typer.Option(
            help="With --spawn: a further prompt format to ask the model alone in, such as codellama-psm.",
            show_default="the model's own only",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Problems, lines, places or files of each part, chosen by the seed.",
            show_default="all 1,033 single-line problems; 200, 240, 40 and 16 of the others",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses problems, files and places.")] = 0,
    at_once: Annotated[int, typer.Option(min=1, max=16, help="Cases at a time.")] = 8,
    deadline_ms: Annotated[
        int,
        typer.Option(
            min=1, max=MAX_DEADLINE_MS, help="Long, so that a slow machine does not change the texts."
        ),
    ] = MAX_DEADLINE_MS,
    min_confidence: Annotated[
        float,
        typer.Option(min=MIN_CONFIDENCE, max=0, help="Show what is at least so sure; by default all."),
    ] = MIN_CONFIDENCE,
    mode: Annotated[CompletionMode, typer.Option(help="The replay's mode.")] = CompletionMode.AUTO,
    corpus: Annotated[
        Path | None,
        typer.Option(help="A folder of source files.", show_default="the held-out packages"),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="Write every case to a file, one a line of JSON.", show_default=False),
    ] = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the JSON report to a file too.", show_default=False),
    ] = None,
) -> None:
    """Measure how good completions are, through the server.

    HumanEval infilling, run in a sandbox; random lines of real files; such files written again keystroke by
    keystroke; and what context from other files brings.
    """
    from codeserve.bench.quality.run import PARTS, QualityPlan
    from codeserve.bench.quality.tables import tables

    if raw_format and not spawn:
        raise ConfigError("--raw-format asks the model without its server: it needs --spawn")
    if corpus is not None and not corpus.is_dir():
        raise ConfigError(f"{corpus} is no folder: name one with source files")
    for path in (output, cases):
        if path is not None and not path.parent.is_dir():
            raise CodeserveError(f"{path} cannot be written: its folder is not there")
    plan = QualityPlan(
        parts=tuple(part for part in PARTS if not parts or part in parts),
        limit=limit,
        seed=seed,
        at_once=at_once,
        deadline_ms=deadline_ms,
        min_confidence=min_confidence,
        mode=mode.value,
        raw_formats=tuple(raw_format or ()),
        corpus=corpus,
    )
    target = {"url": None} if spawn else {"url": url, "token": read_token(token_file), "ca_file": ca_file}
    report, found = asyncio.run(_measure(plan, model=model, config=config, **target))
    if cases is not None:
        _write_cases(found, cases)
    tell(report, output, json=json, tables=tables)


async def _measure(plan: QualityPlan, **target: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    from codeserve.bench.quality.run import Progress, run_quality

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bar:

        def begin(name: str, total: int) -> None:
            bar.add_task(name, total=total)
            if not console.is_terminal:
                console.print(f"{name}: {total}", highlight=False)

        progress = Progress(begin, lambda: bar.advance(bar.task_ids[-1]))
        return await run_quality(plan, progress=progress, **target)


def _write_cases(found: list[dict[str, Any]], path: Path) -> None:
    import orjson

    try:
        path.write_bytes(b"".join(orjson.dumps(case, option=orjson.OPT_APPEND_NEWLINE) for case in found))
    except OSError as exc:
        raise CodeserveError(f"{path} cannot be written: {exc.strerror}") from None


def pipeline(
    model: Annotated[
        str, typer.Option(help="Preset or model folder, for its tokenizer and budgets.")
    ] = "mini-codellama",
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Problems of each set, and places by language.", show_default="all, and 600"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses problems, files and places.")] = 0,
    corpus: Annotated[
        Path | None, typer.Option(help="A folder of source files.", show_default="the held-out packages")
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="Write what is lost to a file, one a line of JSON.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the JSON report to a file too.", show_default=False),
    ] = None,
) -> None:
    """How many right answers come through the stop rules and the trimming unharmed. Needs no engine."""
    from codeserve.bench.quality.heldout import cache_folder, corpus_folder, read_packages
    from codeserve.bench.quality.right import Pipeline, run_right
    from codeserve.bench.quality.sources import read_sources
    from codeserve.bench.quality.tables import right_tables
    from codeserve.commands.extras import require_server
    from codeserve.commands.model import choose_model
    from codeserve.completion.tokens import Tokenizer
    from codeserve.engine.hub import fetch_model
    from codeserve.settings import ServerSettings

    require_server()
    preset, weights = choose_model(ServerSettings(model=model))
    tokenizer = Tokenizer.load(fetch_model(weights, weights=False))
    stage = Pipeline(
        tokenizer,
        preset.fim,
        context_tokens=preset.context_tokens,
        max_output_tokens=preset.max_output_tokens,
    )
    sources = read_sources(corpus or corpus_folder(read_packages(), cache_folder()))
    parts, lost = run_right(stage, sources, limit=limit, seed=seed)
    if cases is not None:
        _write_cases(lost, cases)
    plan = {"model": model, "limit": limit, "seed": seed, "corpus": str(corpus or "held-out packages")}
    report = {"benchmark": "pipeline", "plan": plan, "parts": parts}
    tell(report, output, json=json, tables=right_tables)


def heldout() -> None:
    """Fetch the held-out packages that `bench quality` measures on, by pip and npm, into the user's cache.

    Their versions and hashes are pinned; nothing of them is installed or run.
    """
    from codeserve.bench.quality.heldout import cache_folder, fetch, read_packages

    packages = read_packages()
    cache = cache_folder()
    fetched = fetch(
        packages, cache, lambda package: typer.echo(f"{package.name} {package.version}", err=True)
    )
    typer.echo(f"{len(packages)} packages in {cache}, {fetched} of them new")
