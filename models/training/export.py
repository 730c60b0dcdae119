"""The `export` command: a model folder to publish, in the form that vLLM and `transformers` load as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from codeserve.engine.quantize import write_int8
from codeserve.engine.shards import shard_names, split, write_index
from training.card import CardFacts, render_card
from training.checkpoint import latest
from training.data.fetch import file_sha256
from training.data.packages import DataError, load_packages
from training.model import Llama, LlamaConfig
from training.progress import Log

__all__ = ["ExportOptions", "export", "export_int8", "save_model", "write_weights"]

AVERAGE_NOTE = "average.json"
SHARD_BYTES = 45_000_000  # hosts of repositories take files of up to 50 MB


@dataclass(frozen=True)
class ExportOptions:
    """What to publish: a finished ``run``, made from ``data``, as ``out``."""

    run: Path
    data: Path
    packages: Path
    out: Path
    int8: bool = True
    reports: Sequence[Path] = ()


def export(options: ExportOptions) -> int:
    """Write the folder with its card; returns the bytes of the weights.

    Raises: FileNotFoundError before a run's end; DataError when the list is not the data's, before anything
    is written.
    """
    manifest = json.loads((options.data / "manifest.json").read_text(encoding="utf-8"))
    if manifest.get("list") != file_sha256(options.packages):
        raise DataError(
            f"{options.data} was made from another list than {options.packages}, whose licences the card "
            "would state: name the one it was made from by --packages, or make the data anew"
        )
    source = options.run / "model"
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    checkpoint = latest(options.run / "checkpoints")
    if checkpoint is None:
        raise FileNotFoundError(f"{options.run} has no checkpoint: it says with which seed the run was made")
    state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
    if options.int8:
        size = export_int8(source, options.out, search=not state["settings"].get("int8", False))
    else:
        tensors = {name: tensor.bfloat16() for name, tensor in load_tensors(source).items()}
        write_weights(options.out, tensors, config, source)
        size = sum(tensor.nbytes for tensor in tensors.values())
    shutil.copyfile(options.run / "curve.svg", options.out / "curve.svg")
    facts = CardFacts(
        name=options.out.resolve().name,
        config=LlamaConfig.of(config),
        parameters=sum(tensor.numel() for tensor in load_tensors(source).values()),
        form="INT8 matrices by row (compressed-tensors), embeddings and norms bf16"
        if options.int8
        else "bf16",
        weight_bytes=size,
        manifest=manifest,
        packages=load_packages(options.packages),
        log=Log.read(options.run / "log.csv"),
        seed=state["settings"]["seed"],
        continued=bool(state["settings"].get("init")),
        share=share_of_run(options.run),
        reports=[json.loads(path.read_text(encoding="utf-8")) for path in options.reports],
    )
    (options.out / "README.md").write_text(render_card(facts), encoding="utf-8")
    return size


def share_of_run(run: Path) -> float:
    """How much of a run's model is the run's: 1 unless it was averaged (`training.average`)."""
    note = run / AVERAGE_NOTE
    return float(json.loads(note.read_text(encoding="utf-8"))["share"]) if note.exists() else 1.0


def load_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors of a model folder, its shards put together."""
    tensors: dict[str, Tensor] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        tensors |= load_file(path)
    return tensors


def save_model(model: Llama, folder: Path, tokenizer: Path, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write a model folder: weights, in bf16 or as ``dtype``, config and tokenizer."""
    tensors = {name: parameter.detach().to("cpu", dtype) for name, parameter in model.named_parameters()}
    write_weights(folder, tensors, model.config.json(), tokenizer)


def export_int8(source: Path, folder: Path, *, search: bool = True) -> int:
    """Write the INT8 form of a model folder; returns the bytes of its weights. ``search`` is that of
    `quantise_rows`.
    """
    _without_weights(folder)
    return write_int8(source, folder, shard_bytes=SHARD_BYTES, search=search)


def _without_weights(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("model*.safetensors*"):
        stale.unlink()


def write_weights(
    folder: Path, tensors: dict[str, Tensor], config: dict[str, object], tokenizer: Path
) -> None:
    """Write a model folder of ready tensors, in shards of at most 45 MB, unless one tensor alone is
    larger.
    """
    _without_weights(folder)
    shards = split({name: tensor.nbytes for name, tensor in tensors.items()}, SHARD_BYTES)
    weight_map: dict[str, str] = {}
    for file, names in zip(shard_names(len(shards)), shards, strict=True):
        save_file({name: tensors[name].contiguous() for name in names}, folder / file, {"format": "pt"})
        (folder / file).chmod(0o644)  # the library makes it the user's alone
        weight_map |= dict.fromkeys(names, file)
    if len(shards) > 1:
        write_index(folder, weight_map, sum(tensor.nbytes for tensor in tensors.values()))
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if (tokenizer / name).exists() and folder.resolve() != tokenizer.resolve():
            shutil.copyfile(tokenizer / name, folder / name)
