"""Checkpoints: everything that a run needs to go on, in a folder that is there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from training.optim import Optimizer
from training.tensors import fitting

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

    A kill at any time leaves the older ones whole; what it leaves half-written goes with the next save.

    Raises: ValueError, with nothing written, when a weight is not finite: it would push out a good one.
    """
    parameters = _parameters(model)
    if not all(bool(tensor.isfinite().all()) for tensor in parameters.values()):
        raise ValueError(
            f"the weights are not finite at step {progress.step}: they are not saved, earlier checkpoints "
            "stay; another --rate or --seed needs another --run-folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"step-{progress.step:07}"
    for killed in folder.glob(".part-*"):
        shutil.rmtree(killed)
    part = folder / f".part-{os.getpid()}"
    part.mkdir()
    save_file({name: tensor.contiguous() for name, tensor in parameters.items()}, part / "model.safetensors")
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
    return sorted(folder.glob("step-*"))


def latest(folder: Path) -> Path | None:
    """The newest checkpoint of a run, if it has one.

    Raises: ValueError when it lacks its `state.json`: an older one, or none, would undo steps unasked.
    """
    place = max(_all(folder), default=None)
    if place is not None and not (place / "state.json").is_file():
        raise _damaged(place, "it has no state.json")
    return place


def _damaged(place: Path, detail: str) -> ValueError:
    older = [other.name for other in _all(place.parent) if other < place and (other / "state.json").is_file()]
    cure = (
        f"delete it, and the run goes on from {older[-1]}"
        if older
        else f"delete the folder {place.parent} to begin anew, or name another --run-folder"
    )
    return ValueError(f"the checkpoint {place} is damaged ({detail}): {cure}")


def load_checkpoint(
    place: Path, model: nn.Module, optimizer: Optimizer, settings: dict[str, object]
) -> Progress:
    """Take over a checkpoint. Without its `optimizer.safetensors` the moments begin anew: some steps lost.

    Raises: ValueError when it is damaged, or when the run had other settings, which would make it a different
    one from here on.
    """
    progress, made_with = _state(place)
    # a setting that a checkpoint lacks came later: the run was made without
    changed = sorted(key for key in settings if (settings[key] or None) != (made_with.get(key) or None))
    if changed:
        raise ValueError(
            f"{place} is of a run with another {', '.join(changed)}: use the same, or another --run-folder"
        )
    try:
        load_weights(place, model)
        if (place / "optimizer.safetensors").exists():
            optimizer.load(_tensors(place / "optimizer.safetensors"))
    except (FileNotFoundError, ValueError) as exc:
        raise _damaged(place, str(exc)) from exc
    return progress


def _state(place: Path) -> tuple[Progress, dict[str, object]]:
    try:
        state = json.loads((place / "state.json").read_text(encoding="utf-8"))
        at = state["progress"]
        progress = Progress(int(at["step"]), float(at["seconds"]), int(at["tokens"]))
        return progress, dict(state["settings"])
    except (ValueError, TypeError, KeyError) as exc:
        raise _damaged(place, "its state.json is not what a run writes") from exc


def load_weights(folder: Path, model: nn.Module) -> None:
    """Take over the weights of a checkpoint or of a model folder.

    Raises: as `read_weights` and `take_over`.
    """
    take_over(read_weights(folder), model)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint or of a model folder, its shards put together; INT8 as what it stands
    for.

    Raises: FileNotFoundError; ValueError when a file is damaged or an INT8 matrix has no scales.
    """
    stored: dict[str, Tensor] = {}
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        tensors = _tensors(path)
        stored |= tensors
        files |= dict.fromkeys(tensors, path)
    if not stored:
        raise FileNotFoundError(f"no model*.safetensors in {folder}")
    weights: dict[str, Tensor] = {}
    for name, tensor in stored.items():
        if name.endswith("_scale"):
            continue
        weights[name] = tensor
        if not tensor.is_floating_point():
            scale = stored.get(f"{name}_scale")
            if scale is None or scale.shape != (*tensor.shape[:-1], 1):
                raise ValueError(f"{files[name]}: {name} has no scale for each of its rows: copy it again")
            weights[name] = tensor.float() * scale.float()
    return weights


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        tensors: dict[str, Tensor] = load_file(path)
    except SafetensorError as exc:
        raise ValueError(f"{path} is cut off or no safetensors file: {exc}") from exc
    return tensors


def take_over(weights: dict[str, Tensor], model: nn.Module) -> None:
    """Set a model's parameters by name.

    Raises: ValueError when one is missing or of another shape.
    """
    with torch.no_grad():
        for name, parameter in _parameters(model).items():
            parameter.copy_(fitting(weights, name, parameter, "the weights to start from have"))


def _parameters(model: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
