"""The `export` command: a model folder to publish, in the form that vLLM and `transformers` load as it is."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from codeserve.engine.quantize import write_int8
from codeserve.engine.shards import shard_names, split, write_index
from codeserve.errors import ConfigError
from training.card import CardFacts, render_card
from training.checkpoint import read_weights
from training.data.packages import DataError
from training.finished import Finished, read_finished
from training.model import Llama

__all__ = ["ExportOptions", "export", "export_int8", "save_model", "write_weights"]

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

    Everything is read and checked first and written beside ``out``, whose files are then replaced; others in
    it stay. Raises: DataError, ValueError when something is missing, damaged, of another list or of a run
    that is not over, or ``out`` is one of the run's folders; what was in ``out`` is then as before.
    """
    out = options.out.resolve()  # a link stays one, and the folder beside is on the same disk
    _check_place(out, options.run)
    finished = read_finished(options.run, options.data, options.packages, options.reports)
    part = out.with_name(f".{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)  # of an export that was killed
        part.mkdir()
        if options.int8:
            # what was trained to be rounded is rounded as in training
            size = export_int8(finished.model, part, search=not finished.settings.get("int8", False))
        else:
            tensors = {name: tensor.bfloat16() for name, tensor in read_weights(finished.model).items()}
            write_weights(part, tensors, finished.config, finished.model)
            size = sum(tensor.nbytes for tensor in tensors.values())
        (part / "curve.svg").write_bytes(finished.curve)
        card = _card(finished, out.name, size, int8=options.int8)
        (part / "README.md").write_text(card, encoding="utf-8")
        _replace(part, out)
    except ConfigError as exc:
        raise DataError(str(exc)) from None
    except OSError as exc:
        raise DataError(f"{out} cannot be written: {exc.strerror or exc}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return size


def _check_place(out: Path, run: Path) -> None:
    """Refuse a folder whose files are, or whose place is among, what is read."""
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is not a folder: name another by --out")
    for folder in (run.resolve(), (run / "model").resolve()):
        if out.is_relative_to(folder) or folder.is_relative_to(out):
            raise DataError(f"{out} is not apart from {folder}, which is read: name another folder by --out")


def _card(finished: Finished, name: str, size: int, *, int8: bool) -> str:
    facts = CardFacts(
        name=name,
        config=finished.shape,
        parameters=sum(map(math.prod, finished.shapes.values())),
        form="INT8 matrices by row (compressed-tensors), embeddings and norms bf16" if int8 else "bf16",
        weight_bytes=size,
        manifest=finished.manifest,
        packages=finished.packages,
        log=finished.log,
        seed=finished.settings["seed"],
        continued=bool(finished.settings.get("init")),
        share=finished.share,
        reports=finished.reports,
    )
    try:
        return render_card(facts)
    except (LookupError, TypeError, AttributeError, ValueError) as exc:
        raise DataError(
            f"no card can be made, as the manifest, the log or a report is of another form: {exc!r}"
        ) from None


def _replace(part: Path, out: Path) -> None:
    """Move the files of ``part`` to ``out``, which has no config, and so is no model, until it is whole."""
    out.mkdir(exist_ok=True)
    (out / "config.json").unlink(missing_ok=True)
    _without_weights(out)
    for path in sorted(part.iterdir(), key=lambda each: each.name == "config.json"):
        path.replace(out / path.name)


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
