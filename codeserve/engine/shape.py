"""The sizes of a transformer, from its config.json or from a preset: what its memory and speed come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["Shape", "shape_of"]

_positive = attrs.validators.ge(1)

# Classes of the families and the `model_type` of their configs, as transformers names them.
_TYPES = {
    "LlamaForCausalLM": "llama",
    "Qwen2ForCausalLM": "qwen2",
    "Starcoder2ForCausalLM": "starcoder2",
}


@attrs.frozen(kw_only=True)
class Shape:
    """A causal transformer with grouped queries. ``inner`` is the width of the feed-forward layers."""

    architecture: str = "LlamaForCausalLM"
    layers: int = attrs.field(validator=_positive)
    hidden: int = attrs.field(validator=_positive)
    inner: int = attrs.field(validator=_positive)
    heads: int = attrs.field(validator=_positive)
    kv_heads: int = attrs.field(validator=_positive)
    vocabulary: int = attrs.field(validator=_positive)
    head_width: int | None = None  # hidden / heads when None
    tied: bool = False  # the embedding is the output layer as well

    @property
    def width(self) -> int:
        """Of one head."""
        return self.head_width or self.hidden // self.heads

    @property
    def gated(self) -> bool:
        """Whether the feed-forward layers have three matrices, as all families here but StarCoder2's."""
        return self.architecture != "Starcoder2ForCausalLM"

    @property
    def linear_parameters(self) -> int:
        """Of the layers' matrices, which are what quantisation makes smaller."""
        attention = self.hidden * self.width * (2 * self.heads + 2 * self.kv_heads)
        feed_forward = self.hidden * self.inner * (3 if self.gated else 2)
        return self.layers * (attention + feed_forward)

    @property
    def embedding_parameters(self) -> int:
        """Of the embedding and the output layer, which keep 16 bits."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def kv_values(self) -> int:
        """Numbers in the KV cache for one token."""
        return 2 * self.layers * self.kv_heads * self.width

    def config(self, context_tokens: int) -> dict[str, Any]:
        """A config.json of this shape, for weights that are made up."""
        return {
            "architectures": [self.architecture],
            "model_type": _TYPES[self.architecture],
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "intermediate_size": self.inner,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.width,
            "max_position_embeddings": context_tokens,
            "rms_norm_eps": 1e-5,
            "rope_theta": 1e6,
            "hidden_act": "silu" if self.gated else "gelu_pytorch_tanh",
            "tie_word_embeddings": self.tied,
            "torch_dtype": "bfloat16",
            "bos_token_id": 1,
            "eos_token_id": 2,
        }


def shape_of(config: Mapping[str, Any]) -> Shape | None:
    """The shape that a config.json gives, None where it is not of the usual kind."""
    names = config.get("architectures")
    if config.get("kv_lora_rank"):  # latent attention, as of DeepSeek-V2: its KV cache has no heads
        return None
    try:
        return Shape(
            architecture=names[0] if isinstance(names, list) and names else "",
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            inner=config["intermediate_size"],
            heads=config["num_attention_heads"],
            kv_heads=config.get("num_key_value_heads") or config["num_attention_heads"],
            vocabulary=config["vocab_size"],
            head_width=config.get("head_dim"),
            tied=bool(config.get("tie_word_embeddings", False)),
        )
    except (KeyError, TypeError, ValueError):
        return None
