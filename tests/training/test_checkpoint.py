"""A checkpoint is taken over whole; a damaged one is refused by name, and says what to do."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from training.checkpoint import Progress, latest, load_checkpoint, read_weights, save_checkpoint
from training.model import SIZES, Llama
from training.optim import Optimizer


def _optimizer(model: Llama) -> Optimizer:
    return Optimizer(model, 1.0, lambda function: function)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoints of a run: two."""
    folder = tmp_path_factory.mktemp("run") / "checkpoints"
    model = Llama(SIZES["tiny"], "dense", 0)
    for step in (1, 2):
        save_checkpoint(folder, model, _optimizer(model), Progress(step, 1.0, 9), {})
    return folder


@pytest.fixture
def checkpoints(made: Path, tmp_path: Path) -> Path:
    """A copy, to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "checkpoints"))


def _load(folder: Path) -> Progress:
    place = latest(folder)
    assert place is not None
    model = Llama(SIZES["tiny"], "dense", 1)
    return load_checkpoint(place, model, _optimizer(model), {})


def test_none_is_whole(checkpoints: Path) -> None:
    """Checkpoints that have all lost their state are no new run: an error says how to begin one."""
    for path in checkpoints.glob("*/state.json"):
        path.unlink()
    with pytest.raises(ValueError, match=r"step-0000002 .* delete the folder .*checkpoints .* --run-folder"):
        latest(checkpoints)


def test_the_newest_lost_its_state(checkpoints: Path) -> None:
    """The older one is not taken unasked."""
    (checkpoints / "step-0000002" / "state.json").unlink()
    with pytest.raises(ValueError, match=r"step-0000002 .* delete it, .* step-0000001"):
        latest(checkpoints)
    shutil.rmtree(checkpoints / "step-0000002")
    assert _load(checkpoints).step == 1


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.json"])
@pytest.mark.parametrize("left", [0, 0.9, None], ids=["empty", "truncated", "garbage"])
def test_a_damaged_file(checkpoints: Path, name: str, left: float | None) -> None:
    """A file of the newest checkpoint that cannot be read: one line that names the folder."""
    path = checkpoints / "step-0000002" / name
    content = path.read_bytes()
    path.write_bytes(b"\xff" * 999 if left is None else content[: int(left * len(content))])
    with pytest.raises(ValueError, match=r"step-0000002 is damaged .*: delete it, .* step-0000001") as caught:
        _load(checkpoints)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("state", [[], {}, {"progress": {}, "settings": {}}, {"progress": None}])
def test_another_state(checkpoints: Path, state: object) -> None:
    """A state that does not say how far the run is does not put it at step 0."""
    (checkpoints / "step-0000002" / "state.json").write_text(json.dumps(state))
    with pytest.raises(ValueError, match=r"step-0000002 is damaged .*state\.json"):
        _load(checkpoints)


def test_without_weights(checkpoints: Path) -> None:
    """A checkpoint without its weights is damaged."""
    (checkpoints / "step-0000002" / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"step-0000002 is damaged .*delete it"):
        _load(checkpoints)


@pytest.mark.parametrize("change", ["other names", "other shapes"])
def test_the_optimizer_of_another_model(checkpoints: Path, change: str) -> None:
    """Moments of other parameters are refused, even where they could be spread to the right shape."""
    path = checkpoints / "step-0000002" / "optimizer.safetensors"
    state = load_file(path)
    if change == "other names":
        state = {f"{name}.other": tensor for name, tensor in state.items()}
    else:
        state = {name: torch.zeros(1) for name in state}
    save_file(state, path)
    with pytest.raises(ValueError, match=r"step-0000002 is damaged \(the optimizer is of another model"):
        _load(checkpoints)


def test_what_a_kill_left(checkpoints: Path) -> None:
    """A save removes the half-written folders of saves that were killed, and keeps two checkpoints."""
    (checkpoints / ".part-1").mkdir()
    (checkpoints / ".part-1" / "model.safetensors").write_bytes(b"half")
    model = Llama(SIZES["tiny"], "dense", 0)
    save_checkpoint(checkpoints, model, _optimizer(model), Progress(3, 1.0, 9), {})
    assert sorted(path.name for path in checkpoints.iterdir()) == ["step-0000002", "step-0000003"]


def test_weights_that_are_no_numbers(checkpoints: Path) -> None:
    """They are not saved, lest they push out the good ones."""
    model = Llama(SIZES["tiny"], "dense", 0)
    with torch.no_grad():
        model.model.norm.weight[3] = float("nan")
    with pytest.raises(ValueError, match="not finite at step 3"):
        save_checkpoint(checkpoints, model, _optimizer(model), Progress(3, 1.0, 9), {})
    assert sorted(path.name for path in checkpoints.iterdir()) == ["step-0000001", "step-0000002"]


def test_int8_without_scales(tmp_path: Path) -> None:
    """An INT8 matrix without its scales is not taken for weights."""
    save_file({"a.weight": torch.ones(2, 3, dtype=torch.int8)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"model\.safetensors: a\.weight has no scale"):
        read_weights(tmp_path)


def test_truncated_weights(tmp_path: Path) -> None:
    """A file of weights that is cut off is named."""
    path = tmp_path / "model.safetensors"
    save_file({"a.weight": torch.ones(2, 3)}, path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"model\.safetensors is cut off"):
        read_weights(tmp_path)
