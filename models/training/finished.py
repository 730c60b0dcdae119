"""What `export` reads: a finished run, its data's manifest and the reports, checked before anything is
written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from training.checkpoint import latest
from training.data.fetch import file_sha256
from training.data.packages import DataError, Package, load_packages
from training.model import Llama, LlamaConfig
from training.progress import Log
from training.schedule import Schedule

__all__ = ["AVERAGE_NOTE", "TRAINED", "Finished", "read_finished", "share_of_run"]

AVERAGE_NOTE = "average.json"  # in the model's folder
TRAINED = "model-trained"  # of a run whose model is an average: what it ended with
_TOLERANCE_S = 1.0  # of a run by minutes: clocks and rounding
_TYPES = (torch.bfloat16, torch.float16, torch.float32)


@dataclass(frozen=True)
class Finished:
    """A finished run, checked."""

    model: Path
    config: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]  # of all tensors, by name
    settings: dict[str, Any]
    log: Sequence[dict[str, str]]
    curve: bytes
    manifest: dict[str, Any]
    packages: Sequence[Package]
    reports: Sequence[dict[str, Any]]
    share: float  # of the run in its model; the rest is of what it began with

    @property
    def shape(self) -> LlamaConfig:
        """What the config states."""
        return LlamaConfig.of(self.config)


def read_finished(run: Path, data: Path, packages: Path, reports: Sequence[Path]) -> Finished:
    """Read all that a folder to publish is made from.

    Raises: DataError for what is missing, damaged, of another list or of a run that is not over; ValueError
    for a config that does not state the model.
    """
    listed = load_packages(packages)
    manifest = _manifest(data, packages)
    settings = _settings(run)
    model = run / "model"
    config = _read_json(model / "config.json", "finish the run first")
    if not (model / "tokenizer.json").is_file():
        raise DataError(f"{model} has no tokenizer.json: copy it from the tokenizer of the run")
    curve = run / "curve.svg"
    if not curve.is_file():
        raise DataError(f"there is no {curve}: finish the run first, or copy it beside its model")
    return Finished(
        model=model,
        config=config,
        shapes=_checked_weights(model, LlamaConfig.of(config)),
        settings=settings,
        log=_log(run / "log.csv"),
        curve=curve.read_bytes(),
        manifest=manifest,
        packages=listed,
        reports=[_report(path) for path in reports],
        share=share_of_run(run),
    )


def share_of_run(run: Path) -> float:
    """How much of a run's model is the run's: 1 unless it was averaged (`training.average`).

    Raises: DataError.
    """
    path = run / "model" / AVERAGE_NOTE
    if not path.exists():
        return 1.0
    share = _read_json(path, "average again").get("share")
    if not isinstance(share, float):
        raise DataError(f"{path} does not state the share: average again")
    return share


def _read_json(path: Path, remedy: str) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"there is no {path}: {remedy}") from None
    except (OSError, ValueError) as exc:
        raise DataError(f"{path} cannot be read ({exc}): {remedy}") from None
    if not isinstance(value, dict):
        raise DataError(f"{path} is not a JSON object: {remedy}")
    return value


def _manifest(data: Path, packages: Path) -> dict[str, Any]:
    path = data / "manifest.json"
    manifest = _read_json(path, "make the data anew, or name its folder by --data")
    if manifest.get("list") != file_sha256(packages):
        raise DataError(
            f"{data} was made from another list than {packages}, whose licences the card would state: "
            "name the one it was made from by --packages, or make the data anew"
        )
    if missing := [key for key in ("held_out_packages", "languages") if key not in manifest]:
        raise DataError(f"{path} does not state {', '.join(missing)}: make the data anew")
    return manifest


def _settings(run: Path) -> dict[str, Any]:
    """Those of the newest checkpoint: a model beside it may be of an earlier run until this one is over."""
    checkpoint = latest(run / "checkpoints")
    if checkpoint is None:
        raise DataError(f"{run} has no checkpoint, which says how the run was made: finish the run first")
    path = checkpoint / "state.json"
    state = _read_json(path, "finish the run again")
    try:
        settings, progress = state["settings"], state["progress"]
        schedule = Schedule(settings["steps"], settings["minutes"])
        done = schedule.done(progress["step"], progress["seconds"] + _TOLERANCE_S)
        settings["seed"]
    except (KeyError, TypeError, ValueError) as exc:
        raise DataError(f"{path} is no state of a run ({exc}): finish the run again") from None
    if done < 1.0:
        raise DataError(f"{run} is at step {progress['step']}, before its end: finish the run first")
    return dict(settings)


def _log(path: Path) -> list[dict[str, str]]:
    try:
        rows = Log.read(path)
        for name in ("tokens", "seconds"):
            float(rows[-1][name])
    except FileNotFoundError:
        raise DataError(f"there is no {path}: finish the run first, or copy it beside its model") from None
    except (OSError, LookupError, TypeError, ValueError):
        raise DataError(f"{path} is no log of a run, or without rows: copy it again") from None
    return rows


def _report(path: Path) -> dict[str, Any]:
    report = _read_json(path, "measure again with `codeserve bench quality --json`")
    if not isinstance(report.get("parts"), dict):
        raise DataError(f"{path} has no parts: name a report of `codeserve bench quality --json`")
    return report


def _checked_weights(folder: Path, config: LlamaConfig) -> dict[str, tuple[int, ...]]:
    """The shapes of all tensors, which are the config's and hold numbers throughout."""
    try:
        with torch.device("meta"):  # shapes alone, without the numbers
            named = Llama(config, "dense", 0).named_parameters()
        shapes = {name: tuple(parameter.shape) for name, parameter in named}
    except (TypeError, RuntimeError) as exc:
        raise DataError(f"{folder / 'config.json'} states no model ({exc}): copy it again") from None
    seen: set[str] = set()
    for path in sorted(folder.glob("model*.safetensors")):
        try:
            with safe_open(path, framework="pt") as file:
                names: list[str] = list(file.keys())
                for name in names:
                    _check_tensor(path, name, file.get_tensor(name), shapes.get(name))
                    if name in seen:
                        raise DataError(
                            f"{path} holds {name}, as another file of the folder does: copy it again"
                        )
                    seen.add(name)
        except (OSError, SafetensorError) as exc:
            raise DataError(f"{path} cannot be read ({exc}): copy it again") from None
    if missing := sorted(shapes.keys() - seen):
        raise DataError(f"the weights in {folder} lack {missing[0]}: copy them again")
    return shapes


def _check_tensor(path: Path, name: str, tensor: torch.Tensor, shape: tuple[int, ...] | None) -> None:
    if shape is None:
        raise DataError(f"{path} holds {name}, which the config's model does not have: copy it again")
    if tuple(tensor.shape) != shape:
        raise DataError(f"{path}: {name} is of shape {tuple(tensor.shape)}, by the config of {shape}")
    if tensor.dtype not in _TYPES:
        raise DataError(f"{path}: {name} is {tensor.dtype}: take the weights as they were trained")
    # in 16 bits, as it is published: the largest numbers of 32 bits are infinite there
    if not torch.isfinite(tensor.bfloat16()).all():
        raise DataError(f"{path}: {name} holds values that are infinite or not a number: train anew")
