"""Causal attention that stays within the examples of a row.

Two ways: `varlen` hands the examples to FlashAttention as sequences of their own length, on a GPU; `dense`
masks the whole row and runs anywhere. (Flex attention was tried first: compiled by torch 2.11 for an H200 it
learned slowly and then diverged where `dense` did not.)
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.varlen import varlen_attn

__all__ = ["ATTENTIONS", "SEGMENTS_IN_ROW", "Attention", "boundaries"]

# What a row holds at most, its padding included. A constant, since the kernel's input is then of one shape
# and compiled once. Rows of 4,096 tokens seldom hold half as many.
SEGMENTS_IN_ROW = 16

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Of queries [rows, tokens, heads, size], keys and values [rows, tokens, KV heads, size]: as the queries."""


def boundaries(segments: Tensor) -> Tensor:
    """Where each example begins when the rows are laid end to end, and the end of all: int32 [rows * 16 + 1].

    ``segments`` [rows, tokens], ascending in a row. Examples that are not there begin, and end, at the end.
    """
    rows, tokens = segments.shape
    new = F.pad(segments[:, 1:] != segments[:, :-1], (1, 0), value=True).flatten()
    end = rows * tokens
    begins = torch.where(new, torch.arange(end, device=segments.device), end).sort().values
    return F.pad(begins[: rows * SEGMENTS_IN_ROW], (0, 1), value=end).to(torch.int32)


def _varlen(segments: Tensor) -> Attention:
    starts = boundaries(segments)
    tokens = segments.shape[1]

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        # The kernel has grouped queries only in later versions of torch.
        k, v = (x.repeat_interleave(q.shape[2] // x.shape[2], dim=2) for x in (k, v))
        laid = [x.flatten(0, 1) for x in (q, k, v)]
        out = varlen_attn(*laid, starts, starts, tokens, tokens, window_size=(-1, 0))
        return (out if isinstance(out, Tensor) else out[0]).view_as(q)

    return attend


def _dense(segments: Tensor) -> Attention:
    tokens = segments.shape[1]
    causal = torch.ones(tokens, tokens, dtype=torch.bool, device=segments.device).tril()
    mask = ((segments[:, :, None] == segments[:, None, :]) & causal)[:, None]

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        out: Tensor = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        return out.transpose(1, 2)

    return attend


ATTENTIONS: dict[str, Callable[[Tensor], Attention]] = {"varlen": _varlen, "dense": _dense}
