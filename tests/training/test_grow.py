"""A grown model computes what the small one does, and can learn more."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from training.checkpoint import take_over
from training.export import save_model
from training.grow import grow
from training.model import SIZES, Llama, LlamaConfig
from training.run import RunOptions, Schedule, _Trainer
from training.team import Team

SMALL = SIZES["tiny"]
LARGE = LlamaConfig(128, 256, 5, 8, 4, 16)


def _weights(model: Llama) -> dict[str, torch.Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@pytest.fixture(scope="module")
def small() -> Llama:
    model = Llama(SMALL, "dense", seed=3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for name, parameter in model.named_parameters():  # as different as those of a trained one
            if parameter.ndim == 1:
                parameter.uniform_(0.5, 1.5, generator=generator)
            elif "embed" not in name:
                parameter.mul_(5.0)
    return model


@pytest.fixture(scope="module")
def large(small: Llama) -> Llama:
    model = Llama(LARGE, "dense", seed=9)
    take_over(grow(_weights(small), SMALL, LARGE, seed=1), model)
    return model


def _batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    ids = torch.randint(0, 32000, (1, 128), generator=torch.Generator().manual_seed(2))
    return ids, torch.zeros(1, 128, dtype=torch.long), torch.arange(128)[None]


def test_it_computes_the_same(small: Llama, large: Llama) -> None:
    """Twice as wide and with more layers, it gives the same logits, which depend on what is in front."""
    ids, segments, positions = _batch()
    before = small(ids, segments, positions)
    torch.testing.assert_close(large(ids, segments, positions), before, atol=1e-4, rtol=1e-3)
    ids[:, :60] += 1
    assert (small(ids, segments, positions)[:, -1] - before[:, -1]).abs().max() > 0.05


def test_twins_learn_different_things(large: Llama) -> None:
    """The halves of a matrix differ, and so do their gradients; added layers get gradients too."""
    ids, segments, positions = _batch()
    logits = large(ids, segments, positions)
    torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:]).backward()
    matrix = large.model.layers[0].mlp.up_proj.weight
    left, right = matrix.chunk(2, dim=1)
    assert not torch.allclose(left, right)
    assert matrix.grad is not None
    top, bottom = matrix.grad.chunk(2)
    assert not torch.allclose(top, bottom, rtol=0.01)
    added = large.model.layers[1].mlp.down_proj.weight
    assert added.abs().max() == 0
    assert added.grad is not None
    assert added.grad.abs().max() > 0


@pytest.mark.parametrize(
    "shape",
    [replace(LARGE, hidden_size=192), replace(LARGE, num_hidden_layers=1), replace(LARGE, rope_theta=1e4)],
)
def test_another_shape_is_refused(small: Llama, shape: LlamaConfig) -> None:
    """What is not twice as wide, has fewer layers or differs otherwise cannot be grown into."""
    with pytest.raises(ValueError, match="twice its widths"):
        grow(_weights(small), SMALL, shape, seed=1)


def test_a_run_starts_from_a_smaller_folder(
    small: Llama, tokenizer_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is told to start from a folder of the small model begins with its logits."""
    save_model(small, tmp_path / "small", tokenizer_folder, torch.float32)
    monkeypatch.setitem(SIZES, "large", LARGE)
    options = RunOptions(
        data=tmp_path, run=tmp_path, tokenizer=tokenizer_folder, schedule=Schedule(steps=1), size="large",
        attention="dense", compile=False, init=tmp_path / "small",
    )  # fmt: skip
    started = _Trainer(options, Team()).model
    torch.testing.assert_close(started(*_batch()), small(*_batch()), atol=1e-4, rtol=1e-3)


def test_what_a_config_leaves_out_is_named() -> None:
    """A config.json without a size of the shape is refused, by name."""
    stated = {name: value for name, value in SMALL.json().items() if name != "head_dim"}
    with pytest.raises(ValueError, match="head_dim"):
        LlamaConfig.of(stated)
