"""``codeserve models``: what can be served here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codeserve.errors import ConfigError

if TYPE_CHECKING:
    from codeserve.engine.presets import Preset

__all__ = ["models"]

_WIDE = 120  # columns of a terminal that all fits into

# Memory of usual cards, in bytes: an RTX 4090, an L40S, an A100 or H100, an H200.
_CARDS = {f"{size} GB": size * 10**9 for size in (24, 48, 80, 141)}


def models(
    models_dir: Annotated[
        Path | None,
        typer.Option(help="Folder with the weights of presets.", show_default="the settings'"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the model presets, what they need, and whether their weights are on this machine.

    Memory is for the weights, and for the KV cache of one developer with a full context. The last columns are
    how many developers' contexts a GPU of 24, 48, 80 or 141 GB holds at a time, or as many such GPUs as the
    preset is for. Where the last column says
    quantize, `codeserve quantize` makes the weights; `codeserve check --model PRESET` tells the command.
    """
    from codeserve.engine.presets import load_presets
    from codeserve.settings import load_settings

    models_dir = load_settings(None, {"models_dir": models_dir}).models_dir
    rows: list[dict[str, Any]] = []
    for preset in load_presets().values():
        folder = _folder(preset, models_dir)
        rows.append(
            {
                "name": preset.name,
                "description": preset.description,
                "model": str(preset.model),
                "weights": preset.weights,
                "fim": preset.fim,
                "device": preset.device,
                "context_tokens": preset.context_tokens,
                "folder": str(folder) if folder else None,
                "refused": preset.refused or None,
                **_memory(preset, folder),
            }
        )
    if json:
        import orjson

        typer.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        return
    _print(rows)


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.box import HEAVY_HEAD
    from rich.console import Console
    from rich.table import Table

    from codeserve.engine.memory import gib

    console = Console(highlight=False)
    wide = console.width >= _WIDE
    # On a narrow terminal without descriptions and lines, so that each preset keeps to one line.
    table = Table(
        title="codeserve serve --model PRESET",
        box=HEAVY_HEAD if wide else None,
        padding=(0, 1) if wide else (0, 1, 0, 0),
        pad_edge=wide,
    )
    table.add_column("preset", no_wrap=True, min_width=max(len(row["name"]) for row in rows))
    if wide:
        table.add_column("description")
    for name in ("weights", "a developer"):
        table.add_column(name, no_wrap=not wide)
    for name in (*_CARDS, "here"):
        table.add_column(name, justify="right", no_wrap=not wide)
    for row in rows:
        counts = [str(row["developers"][card]) if row["developers"] else "" for card in _CARDS]
        size, kv = (gib(row[key]) if row[key] else "" for key in ("weight_bytes", "kv_bytes_per_developer"))
        description = [row["description"]] if wide else []
        table.add_row(row["name"], *description, size, kv, *counts, _here(row))
    console.print(table)


def _here(row: dict[str, Any]) -> str:
    if row["refused"]:
        return "refused"
    if row["folder"]:
        return "here"
    return "quantize" if row["weights"] == "quantize" else "not here"


def _memory(preset: Preset, folder: Path | None) -> dict[str, Any]:
    """What a preset needs, in bytes, and the developers that fit, by card; None where it is unknown."""
    from codeserve.engine.folder import read_config, weight_bytes
    from codeserve.engine.memory import need_of

    config = read_config(folder) if folder else None
    weights = weight_bytes(folder, float32=preset.float32) if folder else None
    need = None if preset.refused else need_of(preset, config=config, weights=weights)
    if need is None:
        return {"weight_bytes": None, "kv_bytes_per_developer": None, "developers": None}
    room = {card: int(size * preset.gpu_memory_utilization) for card, size in _CARDS.items()}
    return {
        "weight_bytes": need.weights,
        "kv_bytes_per_developer": need.kv_per_developer,
        "developers": {
            card: preset.data_parallel
            * need.developers(size, preset.tensor_parallel, preset.pipeline_parallel)
            for card, size in room.items()
        },
    }


def _folder(preset: Preset, models_dir: Path | None) -> Path | None:
    """The folder with the preset's weights, whole, if there is one on this machine. Fetches nothing."""
    from codeserve.commands.model import local_weights
    from codeserve.engine.folder import check_folder, read_config
    from codeserve.engine.hub import cached_folder
    from codeserve.engine.int8 import is_int8

    made = preset.weights == "quantize"
    folder = local_weights(preset, models_dir)
    if folder is None and isinstance(preset.model, Path):
        folder = preset.model
    elif folder is None and not made:
        folder = cached_folder(str(preset.model))
    try:
        if folder is not None:
            check_folder(folder)
            if made and not is_int8(read_config(folder)):
                return None
    except ConfigError:
        return None
    return folder
