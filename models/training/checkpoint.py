"""Checkpoints: everything that a run needs to go on, in a folder that is there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from training.optim import Optimizer

__all__ = [
    "Progress",
    "latest",
    "load_checkpoint",
    "load_weights",
    "read_weights",
    "save_checkpoint",
    "take_over",
]

_KEPT = 2


@dataclass
class Progress:
    """How far a run is. The position in the data is the step."""

    step: int = 0
    seconds: float = 0.0  # of training, over all parts of the run
    tokens: int = 0


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: Optimizer, progress: Progress, settings: dict[str, object]
) -> Path:
    """Write ``folder/step-N`` and delete all but the two newest.

    A kill at any time leaves the older ones whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"step-{progress.step:07}"
    part = folder / f".part-{os.getpid()}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    save_file(
        {name: tensor.contiguous() for name, tensor in _parameters(model).items()}, part / "model.safetensors"
    )
    save_file(
        {name: tensor.contiguous() for name, tensor in optimizer.state().items()},
        part / "optimizer.safetensors",
    )
    text = json.dumps({"progress": asdict(progress), "settings": settings}, indent=1)
    (part / "state.json").write_text(text, encoding="utf-8")
    for path in part.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    shutil.rmtree(place, ignore_errors=True)
    part.rename(place)
    for old in _all(folder)[:-_KEPT]:
        shutil.rmtree(old)
    return place


def _all(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("step-*") if (path / "state.json").exists())


def latest(folder: Path) -> Path | None:
    """The newest checkpoint of a run, if it has one."""
    return max(_all(folder), default=None)


def load_checkpoint(
    place: Path, model: nn.Module, optimizer: Optimizer, settings: dict[str, object]
) -> Progress:
    """Take over a checkpoint. Without its `optimizer.safetensors` the moments begin anew: some steps lost.

    Raises: ValueError when the run had other settings, which would make it a different one from here on.
    """
    state = json.loads((place / "state.json").read_text(encoding="utf-8"))
    # a setting that a checkpoint lacks came later: the run was made without
    changed = sorted(
        key for key in settings if (settings[key] or None) != (state["settings"].get(key) or None)
    )
    if changed:
        raise ValueError(
            f"{place} is of a run with another {', '.join(changed)}: use the same, or another --run-folder"
        )
    load_weights(place, model)
    if (place / "optimizer.safetensors").exists():
        optimizer.load(load_file(place / "optimizer.safetensors"))
    return Progress(**state["progress"])


def load_weights(folder: Path, model: nn.Module) -> None:
    """Take over the weights of a checkpoint or of a model folder.

    Raises: as `read_weights` and `take_over`.
    """
    take_over(read_weights(folder), model)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint or of a model folder, its shards put together; INT8 as what it stands
    for.

    Raises: FileNotFoundError.
    """
    stored: dict[str, Tensor] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        stored |= load_file(path)
    if not stored:
        raise FileNotFoundError(f"no model*.safetensors in {folder}")
    return {
        name: tensor.float() * stored[f"{name}_scale"].float() if f"{name}_scale" in stored else tensor
        for name, tensor in stored.items()
        if not name.endswith("_scale")
    }


def take_over(weights: dict[str, Tensor], model: nn.Module) -> None:
    """Set a model's parameters by name.

    Raises: ValueError when one is missing or of another shape.
    """
    with torch.no_grad():
        for name, parameter in _parameters(model).items():
            if name not in weights or weights[name].shape != parameter.shape:
                raise ValueError(
                    f"the weights to start from have no {name} of shape {tuple(parameter.shape)}"
                )
            parameter.copy_(weights[name])


def _parameters(model: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
