"""A larger model from a trained one: it computes the same at first, but for the rounding of INT8, and learns
from there.

Every unit is doubled and what goes into it halved, and layers that add nothing are put between the others
(Chen et al. 2016, "Net2Net: accelerating learning via knowledge transfer").
"""

from __future__ import annotations

import re
from dataclasses import replace

import torch
from torch import Tensor

from training.model import LlamaConfig

__all__ = ["grow"]

_LAYER = re.compile(r"(model\.layers\.)(\d+)(\..*)")
_ADDS = ("self_attn.o_proj.weight", "mlp.down_proj.weight")  # what a layer adds to the residual
# Twins that stay alike would get the same gradients for ever: each takes another share of what goes in.
_UNEVEN = 0.5


def grow(weights: dict[str, Tensor], small: LlamaConfig, large: LlamaConfig, seed: int) -> dict[str, Tensor]:
    """The weights of a model of shape ``large`` that gives the logits of ``small`` with ``weights``.

    Raises: ValueError unless its widths and heads are twice the small one's, its layers as many or more, and
    all else the same.
    """
    doubled = replace(
        small,
        hidden_size=2 * small.hidden_size,
        intermediate_size=2 * small.intermediate_size,
        num_attention_heads=2 * small.num_attention_heads,
        num_key_value_heads=2 * small.num_key_value_heads,
        num_hidden_layers=large.num_hidden_layers,
    )
    if large != doubled or large.num_hidden_layers < small.num_hidden_layers:
        raise ValueError(
            f"{small} grows to twice its widths and heads and as many layers or more, all else the same, "
            f"not to {large}: start that one from random weights"
        )
    random = torch.Generator().manual_seed(seed)
    wide = {name: _widen(name, tensor.float(), random) for name, tensor in weights.items()}
    places = _places(small.num_hidden_layers, large.num_hidden_layers)
    grown = {name: tensor for name, tensor in wide.items() if not _LAYER.match(name)}
    for place, (source, is_new) in enumerate(places):
        for name, tensor in wide.items():
            match = _LAYER.match(name)
            if match and int(match[2]) == source:
                silent = is_new and name.endswith(_ADDS)
                grown[f"{match[1]}{place}{match[3]}"] = torch.zeros_like(tensor) if silent else tensor.clone()
    return grown


def _places(old: int, new: int) -> list[tuple[int, bool]]:
    """Of each layer of the large model: the layer that it is made of, and whether it is an added one."""
    sources = [place * old // new for place in range(new)]
    return [(source, place > 0 and sources[place - 1] == source) for place, source in enumerate(sources)]


def _widen(name: str, weight: Tensor, random: torch.Generator) -> Tensor:
    if name == "model.norm.weight":
        return weight.repeat(2) / 2  # the tied embeddings meet every unit twice
    if weight.ndim == 1:
        return weight.repeat(2)
    if name == "model.embed_tokens.weight":
        return weight.repeat(1, 2)
    rows = weight.repeat(2, 1)
    share = 0.5 + _UNEVEN * (torch.rand(rows.shape, generator=random) - 0.5)
    return torch.cat((rows * share, rows * (1 - share)), dim=1)
