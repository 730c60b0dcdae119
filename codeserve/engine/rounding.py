"""Weights as 8-bit numbers by row, at the least squared error."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["quantise_rows"]

_LARGEST = 127
# Shares of a row's largest value that its scale may stand for. Cutting an outlier off can cost less than
# the coarser steps that it forces on all others.
_SHARES = tuple(1.0 - 0.02 * n for n in range(16))


def quantise_rows(weight: Tensor, *, search: bool = True) -> tuple[Tensor, Tensor]:
    """A matrix [rows, columns] as int8 of the same shape and bf16 scales [rows, 1], by least squared error a
    row; without ``search`` a row's largest value is 127, for weights that were trained to be rounded so.

    Raises: ValueError when a value is infinite or not a number.
    """
    wide = weight.float()
    most = wide.abs().amax(1, keepdim=True).clamp(min=1e-8)
    if not torch.isfinite(most).all():
        raise ValueError("it holds values that are infinite or not a number")
    best = torch.full_like(most, torch.inf)
    scale = most / _LARGEST
    for share in _SHARES if search else ():
        tried = most * share / _LARGEST
        error = _round(wide, tried).mul_(tried).sub_(wide).square_().sum(1, keepdim=True)
        scale = torch.where(error < best, tried, scale)
        best = torch.minimum(error, best)
    stored = scale.bfloat16()
    return _round(wide, stored.float()).to(torch.int8), stored


def _round(wide: Tensor, scale: Tensor) -> Tensor:
    return wide.div(scale).round_().clamp_(-_LARGEST, _LARGEST)
