"""The model: Llama (Touvron et al. 2023) with grouped-query attention, as `transformers` and vLLM read it.

Parameter names are those of `LlamaForCausalLM`, so that saving is renaming nothing. Rows hold several
examples: attention stays within an example, and each begins at position 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.attention import ATTENTIONS, Attention

__all__ = ["SIZES", "Llama", "LlamaConfig", "rounded"]


@dataclass(frozen=True)
class LlamaConfig:
    """The shape. Names are those of a Llama `config.json`; embeddings are tied."""

    hidden_size: int = 512
    intermediate_size: int = 1408
    num_hidden_layers: int = 8
    num_attention_heads: int = 8
    num_key_value_heads: int = 2
    head_dim: int = 64
    vocab_size: int = 32016
    max_position_embeddings: int = 4096
    rope_theta: float = 100000.0
    rms_norm_eps: float = 1e-5

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """The shape that a `config.json` states.

        Raises: ValueError when it is no JSON object, leaves something out or has no number there.
        """
        if not isinstance(config, Mapping):
            raise ValueError("config.json is no JSON object: use one that this pipeline wrote")
        if missing := [field.name for field in fields(cls) if field.name not in config]:
            raise ValueError(
                f"config.json does not state {', '.join(missing)}: use one that this pipeline wrote"
            )
        shape = {field.name: config[field.name] for field in fields(cls)}
        if odd := [name for name, value in shape.items() if not isinstance(value, int | float)]:
            raise ValueError(
                f"config.json has no number as {', '.join(odd)}: use one that this pipeline wrote"
            )
        return cls(**shape)

    def json(self) -> dict[str, object]:
        """The content of `config.json`."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            **asdict(self),
            "hidden_act": "silu",
            "bos_token_id": 1,
            "eos_token_id": 2,
            "torch_dtype": "bfloat16",
            "tie_word_embeddings": True,
            "attention_bias": False,
            "mlp_bias": False,
        }


SIZES = {
    "mini": LlamaConfig(),  # 38.9 M parameters
    # To measure the mini as its draft model: 303 M.
    "draft-target": LlamaConfig(1024, 2816, 24, 16, 4),
    "tiny": LlamaConfig(64, 128, 2, 4, 2, 16),  # for tests
}

_INIT = 0.02
_LARGEST = 127  # of an 8-bit number, both signs alike


def rounded(x: Tensor, *, stored: bool = False) -> Tensor:
    """What is left of each row in 8 bits with the row's own scale; gradients pass as if nothing were lost
    (straight-through: Bengio et al. 2013, "Estimating or propagating gradients").

    ``stored``: with a scale of 16 bits, as `quantise_rows` writes it where it does not search.
    """
    wide = x.detach().float()
    scale = wide.abs().amax(-1, keepdim=True).clamp(min=1e-8) / _LARGEST
    if stored:
        scale = scale.bfloat16().float()
    return x + ((wide / scale).round().clamp(-_LARGEST, _LARGEST) * scale - wide).to(x.dtype)


class _Linear(nn.Linear):
    """A matrix as served in INT8, if it is to be: its rows rounded, and its input for each token."""

    def __init__(self, inputs: int, outputs: int, *, int8: bool) -> None:
        super().__init__(inputs, outputs, bias=False)
        self._int8 = int8

    def forward(self, input: Tensor) -> Tensor:
        if self._int8:
            return F.linear(rounded(input), rounded(self.weight, stored=True))
        return F.linear(input, self.weight)


class _Norm(nn.Module):
    """Root mean square norm, in float32 whatever the type of its input."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self._eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        out: Tensor = self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self._eps))
        return out.to(x.dtype)


class _Attention(nn.Module):
    def __init__(self, c: LlamaConfig, int8: bool) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        self.q_proj = _Linear(c.hidden_size, self.heads * c.head_dim, int8=int8)
        self.k_proj = _Linear(c.hidden_size, self.kv_heads * c.head_dim, int8=int8)
        self.v_proj = _Linear(c.hidden_size, self.kv_heads * c.head_dim, int8=int8)
        self.o_proj = _Linear(self.heads * c.head_dim, c.hidden_size, int8=int8)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Attention) -> Tensor:
        rows, tokens, _ = x.shape

        def heads(projection: _Linear, count: int) -> Tensor:
            y: Tensor = projection(x).view(rows, tokens, count, self.head_dim)
            return y

        q = _rotate(heads(self.q_proj, self.heads), cos, sin)
        k = _rotate(heads(self.k_proj, self.kv_heads), cos, sin)
        y = attend(q, k, heads(self.v_proj, self.kv_heads))
        out: Tensor = self.o_proj(y.reshape(rows, tokens, -1))
        return out


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions in the half-split form of Llama's published weights."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


class _Mlp(nn.Module):
    def __init__(self, c: LlamaConfig, int8: bool) -> None:
        super().__init__()
        self.gate_proj = _Linear(c.hidden_size, c.intermediate_size, int8=int8)
        self.up_proj = _Linear(c.hidden_size, c.intermediate_size, int8=int8)
        self.down_proj = _Linear(c.intermediate_size, c.hidden_size, int8=int8)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class _Layer(nn.Module):
    def __init__(self, c: LlamaConfig, int8: bool) -> None:
        super().__init__()
        self.input_layernorm = _Norm(c.hidden_size, c.rms_norm_eps)
        self.self_attn = _Attention(c, int8)
        self.post_attention_layernorm = _Norm(c.hidden_size, c.rms_norm_eps)
        self.mlp = _Mlp(c, int8)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Attention) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, attend)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class _Body(nn.Module):
    def __init__(self, c: LlamaConfig, int8: bool) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(_Layer(c, int8) for _ in range(c.num_hidden_layers))
        self.norm = _Norm(c.hidden_size, c.rms_norm_eps)


class Llama(nn.Module):
    """The whole model, with tied embeddings. ``int8``: it learns with what its INT8 form will compute."""

    def __init__(self, config: LlamaConfig, attention: str, seed: int, *, int8: bool = False) -> None:
        super().__init__()
        self.config = config
        self.model = _Body(config, int8)
        self._attention = ATTENTIONS[attention]
        self._initialise(seed)

    def _initialise(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in self.named_parameters():
            if parameter.ndim < 2:
                continue  # norms stay at one
            # what is added to the residual starts small, the deeper the model the smaller
            deep = name.endswith(("o_proj.weight", "down_proj.weight"))
            std = _INIT / (2 * self.config.num_hidden_layers) ** 0.5 if deep else _INIT
            with torch.no_grad():
                parameter.normal_(0.0, std, generator=generator)

    def forward(self, ids: Tensor, segments: Tensor, positions: Tensor) -> Tensor:
        """Logits [rows, tokens, vocabulary] in the weights' or autocast's type."""
        c = self.config
        frequencies = c.rope_theta ** -(
            torch.arange(0, c.head_dim, 2, device=ids.device).float() / c.head_dim
        )
        angles = positions[:, :, None, None].float() * frequencies
        cos, sin = angles.cos(), angles.sin()
        attend = self._attention(segments)
        x = self.model.embed_tokens(ids)
        if torch.is_autocast_enabled(ids.device.type):
            x = x.to(torch.get_autocast_dtype(ids.device.type))
        for layer in self.model.layers:
            x = layer(x, cos, sin, attend)
        return F.linear(self.model.norm(x), self.model.embed_tokens.weight)

    def losses(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Summed weighted loss of predicting each next id and the sum of the weights: (2,); the same of
        middles: (2,).
        """
        logits = self.forward(batch["ids"], batch["segments"], batch["positions"])
        # the target moves, not the logits, which are the largest tensor by far
        targets, weights, middles = (_next(batch[name]) for name in ("ids", "weights", "middles"))
        each = F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten().long(), reduction="none")
        each = each.view_as(targets)
        return (
            torch.stack([(each * weights).sum(), weights.float().sum()]),
            torch.stack([(each.detach() * middles).sum(), middles.float().sum()]),
        )


def _next(x: Tensor) -> Tensor:
    """Of each token the value of the next one in its row, 0 for the last."""
    return F.pad(x[:, 1:], (0, 1))
