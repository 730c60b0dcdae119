"""``codeserve bench floor`` and ``speculation``: measurements on an engine of their own, without a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from codeserve.commands.options import CompletionMode
from codeserve.errors import ConfigError

__all__ = ["floor", "llama_cpp", "speculation"]

_Model = Annotated[str, typer.Option(help="Preset, preset file (TOML) or model folder.")]
_ModelsDir = Annotated[
    Path | None, typer.Option(help="Folder with the weights of presets.", show_default="the settings'")
]
_Dummy = Annotated[
    bool, typer.Option("--dummy", help="Weights made up: speed is the real model's, text is noise.")
]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write the JSON report to a file too.", show_default=False),
]
_Batches = Annotated[list[int] | None, typer.Option("--batch", min=1, help="Batch size, repeatable.")]


def _preset(model: str, models_dir: Path | None, dummy: bool, speculation: str | None = None) -> Any:
    """The preset with folders for its models, checked to run here."""
    from codeserve.commands.extras import require_server
    from codeserve.commands.model import choose_model
    from codeserve.engine.hub import fetch_preset
    from codeserve.engine.preflight import checks, require
    from codeserve.settings import load_settings

    require_server()
    flags = {
        "model": model,
        "models_dir": models_dir,
        "load_format": "dummy" if dummy else None,
        "speculation": speculation,
    }
    preset, where = choose_model(load_settings(None, flags))
    require(checks(preset, where))
    return fetch_preset(preset)


def floor(
    model: _Model = "mini-codellama",
    models_dir: _ModelsDir = None,
    dummy: _Dummy = False,
    batch: _Batches = None,
    prompt_tokens: Annotated[int, typer.Option(min=64, help="Of each prompt.")] = 4000,
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each kind.")] = 5,
    bandwidth: Annotated[
        float | None, typer.Option(help="Of a card's memory, in GB/s.", show_default="the card's data sheet")
    ] = None,
    tflops: Annotated[
        float | None,
        typer.Option(help="Of a card, dense, for the weights' type.", show_default="the card's data sheet"),
    ] = None,
    output: _Output = None,
) -> None:
    """Time to first token and time per token beside what the hardware allows at best. Prints JSON.

    An engine of its own is started. The limits are bytes over bandwidth and operations over rate.
    """
    from codeserve.bench.floor import FloorPlan, run_floor
    from codeserve.bench.limits import Rates, rates_of
    from codeserve.commands.bench_report import patiently, tell
    from codeserve.engine.machine import gpus

    preset = _preset(model, models_dir, dummy)
    cards = gpus()
    rates = rates_of(cards[0].name) if cards else None
    if bandwidth is not None and tflops is not None:
        rates = Rates(bandwidth * 1e9, tflops * 1e12, tflops * 1e12, tflops * 1e12)
    elif bandwidth is not None or tflops is not None:
        raise ConfigError("--bandwidth and --tflops go together")
    plan = FloorPlan(prompt_tokens=prompt_tokens, rounds=rounds)
    if batch:
        plan = FloorPlan(batches=tuple(batch), prompt_tokens=prompt_tokens, rounds=rounds)
    report = asyncio.run(patiently(run_floor(preset, plan, rates), f"the floor of {preset.label}"))
    tell(report, output)


def speculation(
    model: _Model = "mini-codellama",
    models_dir: _ModelsDir = None,
    dummy: _Dummy = False,
    method: Annotated[
        list[str] | None,
        typer.Option(help="ngram, suffix, draft_model=FOLDER, eagle=FOLDER or eagle3=FOLDER; repeatable."),
    ] = None,
    draft_tokens: Annotated[int, typer.Option(min=1, help="Drafted in a step.")] = 4,
    auto: Annotated[
        bool,
        typer.Option("--auto", help='Each method, but suffix, also as `speculation = "auto"`.'),
    ] = False,
    batch: _Batches = None,
    prompts: Annotated[int, typer.Option(min=1, help="Places in real code.")] = 32,
    prompt_tokens: Annotated[int, typer.Option(min=64, help="About how long a prompt is.")] = 1600,
    mode: Annotated[CompletionMode, typer.Option(help="What is completed.")] = CompletionMode.BLOCK,
    fixed_tokens: Annotated[
        int | None, typer.Option(min=2, help="Of each output, whatever the model writes.", show_default=False)
    ] = None,
    pretended_length: Annotated[
        float | None,
        typer.Option(min=1, help="Tokens a step that are taken as good: cost alone, for made-up weights."),
    ] = None,
    output: _Output = None,
) -> None:
    """Acceptance and time per token with and without speculation, by batch size. Prints JSON.

    An engine is started for each method, for suffix one for each batch size, since it drafts from earlier
    answers; with --output the file has after each row what was measured so far.
    A draft model only pays where it is much smaller than the model: none drafts for the bundled one.
    """
    from codeserve.bench.speculation import SpeculationPlan, run_speculation
    from codeserve.commands.bench_report import patiently, save, tell
    from codeserve.commands.model import automatic
    from codeserve.engine.preset import Speculation

    chosen = []
    for text in method or ["ngram"]:
        name, _, folder = text.partition("=")
        try:
            one = Speculation(
                method=cast(Any, name),  # checked by the class
                model=Path(folder).resolve() if folder else None,
                num_speculative_tokens=draft_tokens,
                pretended_length=pretended_length,
            )
        except ValueError as exc:
            raise ConfigError(f"--method {text}: {exc}") from None
        chosen += [one, automatic(one)] if auto else [one]
    plan = SpeculationPlan(
        methods=chosen,
        batches=tuple(batch or (1, 4, 16)),
        prompts=prompts,
        prompt_tokens=prompt_tokens,
        mode=mode.value,
        fixed_tokens=fixed_tokens,
    )
    preset = _preset(model, models_dir, dummy)
    run = run_speculation(preset, plan, lambda grown: save(grown, output))
    report = asyncio.run(patiently(run, f"speculation with {preset.label}"))
    tell(report, output)


def llama_cpp(
    model: _Model = "mini-codellama",
    models_dir: _ModelsDir = None,
    kind: Annotated[str, typer.Option("--type", help="Of llama.cpp's weights: bf16 or f16.")] = "bf16",
    prompts: Annotated[int, typer.Option(min=1, help="Places in real code.")] = 12,
    prompt_tokens: Annotated[int, typer.Option(min=64, help="About how long a prompt is.")] = 1600,
    tokens: Annotated[int, typer.Option(min=2, help="Of each output.")] = 16,
    speculation: Annotated[
        str | None, typer.Option(help="on, off or auto, of the served model.", show_default="the settings'")
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option(
            help="Glob pattern of files to complete in, repeatable.",
            show_default="Python's library and the installed packages",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses files and places.")] = 0,
    output: _Output = None,
) -> None:
    """The model as it is served beside llama.cpp with the same weights, on the CPU. Prints JSON.

    Needs llama-cpp-python and gguf. Each prompt is asked cold and then again: of the server, of the engine
    alone and of llama.cpp in turn.
    """
    from importlib.util import find_spec

    from codeserve.commands.bench_report import patiently, tell

    if missing := [name for name in ("llama_cpp", "gguf") if find_spec(name) is None]:
        raise ConfigError(
            f"{' and '.join(missing)} cannot be imported: in a checkout: pip install -e '.[llama-cpp]'"
        )
    from codeserve.bench.llama_cpp.compare import ComparePlan, run_compare

    if kind not in ("bf16", "f16"):
        raise ConfigError(f"--type {kind}: it is bf16 or f16")
    plan = ComparePlan(prompts, prompt_tokens, tokens, cast(Any, kind), tuple(files or ()), seed)
    preset = _preset(model, models_dir, False, speculation)
    report = asyncio.run(patiently(run_compare(preset, plan), f"{preset.label} beside llama.cpp"))
    tell(report, output)
