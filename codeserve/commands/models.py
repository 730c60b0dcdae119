"""``codeserve models``: what can be served here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codeserve.errors import ConfigError

if TYPE_CHECKING:
    from codeserve.engine.presets import Preset

__all__ = ["models"]


def models(
    models_dir: Annotated[
        Path | None,
        typer.Option(help="Folder with the weights of presets.", show_default="the settings'"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the model presets, and whether their weights are on this machine."""
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
                "fim": preset.fim,
                "device": preset.device,
                "context_tokens": preset.context_tokens,
                "folder": str(folder) if folder else None,
            }
        )
    if json:
        import orjson

        typer.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "preset", "description", "FIM format", "device", "weights", title="codeserve serve --model PRESET"
    )
    for row in rows:
        here = "here" if row["folder"] else "not here"
        table.add_row(row["name"], row["description"], row["fim"], row["device"], here)
    Console(highlight=False).print(table)


def _folder(preset: Preset, models_dir: Path | None) -> Path | None:
    """The folder with the preset's weights, whole, if there is one on this machine. Fetches nothing."""
    from codeserve.commands.model import local_weights
    from codeserve.engine.folder import check_folder

    folder = local_weights(preset, models_dir)
    if folder is None:
        folder = preset.model if isinstance(preset.model, Path) else _hub_folder(preset.model)
    try:
        if folder is not None:
            check_folder(folder)
    except ConfigError:
        return None
    return folder


def _hub_folder(model: str) -> Path | None:
    """Where a Hugging Face id's latest snapshot lies in the cache of `huggingface_hub`, without importing it.

    Layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
    """
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface").expanduser()
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    repository = cache / f"models--{model.replace('/', '--')}"
    try:
        revision = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return repository / "snapshots" / revision
