"""Weights as 8-bit numbers."""

from __future__ import annotations

import pytest
import torch

from codeserve.engine.rounding import quantise_rows


def test_near() -> None:
    """A row's rounding error is half a step at most, or less in sum where an outlier is cut off."""
    weight = (
        torch.randn(64, 128, generator=torch.Generator().manual_seed(0)) * torch.logspace(-3, 1, 64)[:, None]
    )
    rounded, scale = quantise_rows(weight)
    error = (rounded.float() * scale.float() - weight).square().mean(1).sqrt()
    assert (rounded.dtype, scale.dtype, scale.shape) == (torch.int8, torch.bfloat16, (64, 1))
    assert (error / weight.square().mean(1).sqrt()).max() < 0.01


def test_an_outlier_is_cut_where_that_costs_less() -> None:
    """The scale is the one of least squared error, not always the one of the largest value."""
    weight = torch.randn(1, 4096, generator=torch.Generator().manual_seed(0))
    weight[0, 0] = 1.3 * weight.abs().max()
    rounded, scale = quantise_rows(weight)
    whole = weight.abs().max() / 127
    plain = ((weight / whole).round() * whole - weight).square().sum()
    assert scale.item() < whole.item()
    assert (rounded.float() * scale.float() - weight).square().sum() < plain


def test_rows_of_8_bits_stay() -> None:
    """What whole numbers times a bf16 scale stand for comes back as these numbers."""
    source = torch.Generator().manual_seed(0)
    numbers = torch.randint(-127, 128, (32, 64), generator=source).to(torch.int8)
    numbers[:, 0] = 127
    scales = torch.rand(32, 1, generator=source).add(0.01).bfloat16()
    rounded, scale = quantise_rows(numbers.float() * scales.float())
    assert torch.equal(rounded, numbers)
    assert torch.equal(scale, scales)


def test_row_of_zeros() -> None:
    """A row of zeros stays one, with a scale that can be multiplied with."""
    rounded, scale = quantise_rows(torch.zeros(2, 8, dtype=torch.bfloat16))
    assert not rounded.any()
    assert torch.isfinite(scale).all()


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
def test_what_is_no_number(value: float) -> None:
    """Weights with a value that is infinite or not a number are refused."""
    with pytest.raises(ValueError, match="infinite or not a number"):
        quantise_rows(torch.tensor([[1.0, value], [1.0, 2.0]]))
