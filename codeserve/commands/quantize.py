"""``codeserve quantize``: a model's weights made INT8."""

from __future__ import annotations

import importlib.util
import re
import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from codeserve.errors import ConfigError

__all__ = ["quantize"]

_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def quantize(
    source: Annotated[
        str,
        typer.Argument(
            help="Model folder with *.safetensors in bf16, fp16 or fp32, or a Hugging Face id.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Argument(help="New folder for the INT8 model.", show_default=False)],
) -> None:
    """Make a model INT8: half the memory of bf16, on GPUs without fp8 and on CPUs.

    Weights get 8 bits with a scale a row; embeddings, output layer and norms keep 16.

    For CodeLlama, DeepSeek-Coder, Qwen2.5-Coder and Codestral. Takes minutes and little memory.
    """
    missing = [name for name in ("torch", "safetensors") if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"quantize needs {' and '.join(missing)}: run `make run` in a checkout, "
            "or pip install -e '.[gpu]' there on a machine with a GPU"
        )
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from codeserve.engine import quantize as engine
    from codeserve.engine.memory import gib

    out = out.expanduser()
    engine.check_new(out)  # before anything is fetched
    folder = _source(source)
    console = Console(stderr=True, highlight=False)
    started = time.monotonic()
    bar = Progress(
        TextColumn(f"{folder.name} to INT8", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=None)
        size = engine.quantize(
            folder, out, on_progress=lambda done, of: bar.update(task, completed=done, total=of)
        )
    console.print(
        f"{out}: {gib(size)} of weights after {time.monotonic() - started:.0f} s",
        soft_wrap=True,
        markup=False,
    )
    console.print(f"next: codeserve serve --model {shlex.quote(str(out))}", soft_wrap=True, markup=False)


def _source(name: str) -> Path:
    """The folder itself, or the one of a Hugging Face id, fetched where it is not here."""
    from codeserve.engine.hub import fetch_model

    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if _HUB_ID.fullmatch(name) is None or folder.exists():
        raise ConfigError(
            f"{name} is not a folder: pass a model folder (config.json, tokenizer.json, *.safetensors) or a "
            "Hugging Face id such as codellama/CodeLlama-7b-hf"
        )
    return fetch_model(name)
