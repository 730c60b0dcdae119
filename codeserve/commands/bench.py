"""``codeserve bench``: how fast a server is and how good its texts, in figures that can be compared."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from codeserve.client import DEFAULT_URL
from codeserve.commands import bench_engine
from codeserve.commands.bench_report import patiently, tell
from codeserve.commands.options import CaFile, CompletionMode, TokenFile, Url, read_token
from codeserve.commands.quality import heldout, pipeline, quality
from codeserve.errors import CodeserveError

__all__ = ["app"]

app = typer.Typer(help="Measure a server, or an engine.", no_args_is_help=True)
app.command()(quality)
app.command()(pipeline)
app.command()(heldout)
app.command()(bench_engine.floor)
app.command()(bench_engine.speculation)
app.command()(bench_engine.llama_cpp)


@app.callback()
def _bench() -> None:
    pass


@app.command()
def load(
    url: Url = DEFAULT_URL,
    spawn: Annotated[
        bool,
        typer.Option("--spawn", help="Start a server for the benchmark on a free port, and stop it after."),
    ] = False,
    model: Annotated[str, typer.Option(help="With --spawn: the preset or model folder.")] = "mini-codellama",
    config: Annotated[
        Path | None, typer.Option(help="With --spawn: the server's settings file.", show_default=False)
    ] = None,
    dummy: Annotated[
        bool, typer.Option("--dummy", help="With --spawn: weights made up, and --fixed-lengths.")
    ] = False,
    devs: Annotated[int, typer.Option(min=1, max=1000, help="Developers who type at the same time.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, max=86_400, help="How long they type.")] = 60.0,
    requests: Annotated[int, typer.Option(min=1, help="End after so many requests.")] = 100_000,
    context_tokens: Annotated[
        int, typer.Option(min=64, max=65_536, help="About how long a prompt is.")
    ] = 1600,
    context_tokens_to: Annotated[
        int | None,
        typer.Option(min=64, max=65_536, help="Draw each prompt's length up to this.", show_default=False),
    ] = None,
    fixed_lengths: Annotated[
        bool,
        typer.Option("--fixed-lengths", help="Outputs as long as real lines are, whatever the model writes."),
    ] = False,
    every_text: Annotated[
        bool,
        typer.Option(
            "--every-text",
            help="Ask for what the server is not sure of too, for models with a min_confidence.",
        ),
    ] = False,
    ramp: Annotated[
        float,
        typer.Option(min=0, max=600, help="Seconds in which they begin, one by one; not counted."),
    ] = 0.0,
    mode: Annotated[
        CompletionMode, typer.Option(help="One line, a block, or what fits.")
    ] = CompletionMode.LINE,
    deadline_ms: Annotated[int, typer.Option(min=1, max=60_000, help="The requests' deadline.")] = 300,
    budget_ms: Annotated[float, typer.Option(min=1, help="What counts as in time, at the client.")] = 300.0,
    pause: Annotated[
        float, typer.Option(min=0, max=600, help="Mean seconds of pause after an answer; 0 for none.")
    ] = 1.0,
    navigate: Annotated[
        float,
        typer.Option(min=0, max=1, help="Probability of going elsewhere after a request: a cold prompt."),
    ] = 0.03,
    type_on: Annotated[
        float, typer.Option(min=0, max=1, help="Probability of typing on, which supersedes the request.")
    ] = 0.1,
    files: Annotated[
        list[str] | None,
        typer.Option(
            help="Glob pattern of files to type in, repeatable.",
            show_default="Python's library and the installed packages",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses files, places and rhythm.")] = 0,
    allow_remote: Annotated[bool, typer.Option(help="Allow a server on another machine.")] = False,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the JSON report to a file too.", show_default=False),
    ] = None,
) -> None:
    """Developers type real code against a server; report what they waited for.

    Each types a file's own text, asks for a completion every few characters, pauses, and sometimes goes
    elsewhere.
    """
    from codeserve.bench.load import LoadPlan
    from codeserve.bench.typist import Habits

    if context_tokens_to is not None and context_tokens_to < context_tokens:
        raise CodeserveError("--context-tokens-to is below --context-tokens")
    plan = LoadPlan(
        habits=Habits(
            context_tokens=context_tokens,
            context_tokens_to=context_tokens_to,
            fixed_lengths=fixed_lengths or dummy,
            every_text=every_text,
            mode=mode.value,
            deadline_ms=deadline_ms,
            pause_s=pause,
            navigate=navigate,
            type_on=type_on,
        ),
        devs=devs,
        seconds=seconds,
        ramp_s=ramp,
        requests=requests,
        files=tuple(files or ()),
        seed=seed,
        budget_ms=budget_ms,
        allow_remote=allow_remote,
    )
    if output is not None and not output.parent.is_dir():
        raise CodeserveError(f"{output} cannot be written: its folder is not there")
    if spawn:
        run = _spawned(model, config, dummy, plan)
    else:
        from codeserve.bench.load import run_load

        run = run_load(url, plan, token=read_token(token_file), ca_file=ca_file)
    report = asyncio.run(patiently(run, f"{devs} typing for {seconds:g} s"))
    tell(report, output, json=json)


@app.command()
def lsp(
    keystrokes: Annotated[int, typer.Option(min=10, help="Keystrokes in a file of each length.")] = 500,
    requests: Annotated[int, typer.Option(min=10, help="Requests against the bad server.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Chooses what the bad server does.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the JSON report to a file too.", show_default=False),
    ] = None,
) -> None:
    """What the language server adds to a request, and whether it answers in time with a bad server.

    Needs no model: a server of its own stalls, dies and comes back. Prints JSON.
    """
    from codeserve.bench.lsp import LspPlan, run_lsp

    plan = LspPlan(keystrokes=keystrokes, requests=requests, seed=seed)
    report = asyncio.run(patiently(run_lsp(plan), f"{requests} requests against a bad server"))
    tell(report, output)


async def _spawned(model: str, config: Path | None, dummy: bool, plan: Any) -> dict[str, Any]:
    from codeserve.bench.load import run_load
    from codeserve.bench.spawn import spawned

    async with spawned(model, config, dummy=dummy) as server:
        report: dict[str, Any] = await run_load(server.url, plan, memory=server.memory)
        report["spawn_to_ready_s"] = server.ready_s
        return report
