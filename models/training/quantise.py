"""INT8 in the form of compressed-tensors (`int-quantized`): 8-bit weights by row, 8-bit activations by token.

Of the 8-bit schemes this is the one that vLLM computes on CPUs: its kernel for weights in groups takes 4
bits only. Embeddings, which are the output layer too, and norms stay bf16.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["QUANTIZATION_CONFIG", "quantise", "quantise_rows"]

_LARGEST = 127
# Shares of a row's largest value that its scale may stand for. Cutting an outlier off can cost less than
# the coarser steps that it forces on all others.
_SHARES = tuple(1.0 - 0.02 * n for n in range(16))

_SYMMETRIC = {"num_bits": 8, "type": "int", "symmetric": True}
QUANTIZATION_CONFIG: dict[str, object] = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "quantization_status": "compressed",
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {**_SYMMETRIC, "strategy": "channel", "dynamic": False},
            "input_activations": {**_SYMMETRIC, "strategy": "token", "dynamic": True},
        }
    },
    "ignore": ["lm_head"],
}


def quantise_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix [rows, columns] as int8 of the same shape and scales [rows, 1], by least squared error a
    row.
    """
    wide = weight.float()
    most = wide.abs().amax(1, keepdim=True).clamp(min=1e-8)
    best = torch.full_like(most, torch.inf)
    scale = most / _LARGEST
    for share in _SHARES:
        tried = most * share / _LARGEST
        error = (wide - _round(wide, tried) * tried).square().sum(1, keepdim=True)
        scale = torch.where(error < best, tried, scale)
        best = torch.minimum(error, best)
    scale = scale.bfloat16().float()  # as it is stored
    return _round(wide, scale).to(torch.int8), scale


def _round(wide: Tensor, scale: Tensor) -> Tensor:
    return (wide / scale).round().clamp(-_LARGEST, _LARGEST)


def quantise(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a Llama model with its linear layers' weights in INT8."""
    out: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if name.endswith("_proj.weight"):
            out[name], scale = quantise_rows(tensor)
            out[name.replace(".weight", ".weight_scale")] = scale.to(torch.bfloat16)
        else:
            out[name] = tensor.to(torch.bfloat16)
    return out
