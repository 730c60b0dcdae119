"""A grown model computes what the small one does, and can learn more."""

from dataclasses import replace

import pytest
import torch

from training.checkpoint import take_over
from training.grow import grow
from training.model import SIZES, Llama, LlamaConfig

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
    before, after = small(*_batch()), large(*_batch())
    torch.testing.assert_close(after, before, atol=1e-4, rtol=1e-3)
    assert before.std(dim=1).mean() > 0.01


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


@pytest.mark.parametrize("shape", [replace(LARGE, hidden_size=192), replace(LARGE, num_hidden_layers=1)])
def test_another_shape_is_refused(small: Llama, shape: LlamaConfig) -> None:
    """What is not twice as wide, or has fewer layers, cannot be grown into."""
    with pytest.raises(ValueError, match="twice its width"):
        grow(_weights(small), SMALL, shape, seed=1)
