"""What a model needs of a GPU's memory: weights, and KV cache for so many developers. Sizes in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from codeserve.engine.int8 import INT8_METHOD
from codeserve.engine.preset import Preset
from codeserve.engine.shape import Shape, shape_of

__all__ = ["GPU_OVERHEAD_BYTES", "Need", "gib", "need_of", "weight_bits"]

# CUDA's context, graphs, activations of a step's tokens, and a sampler's logits.
GPU_OVERHEAD_BYTES = 3 << 30

# Bits of a weight by quantisation. Four bits in groups of 128 carry a scale and a zero point for each group.
_BITS = {
    "fp8": 8.0,
    "fp8_per_tensor": 8.0,
    "fp8_per_channel": 8.0,
    "fp8_per_block": 8.0,
    "awq": 4.16,
    "awq_marlin": 4.16,
    "gptq": 4.16,
    "gptq_marlin": 4.16,
    "bitsandbytes": 4.5,
}


@attrs.frozen
class Need:
    """Of one replica of a model, over all of its GPUs together.

    ``heads`` and ``kv_heads`` say over how many GPUs it can be spread; None where they are not known.
    """

    weights: int
    kv_per_token: int
    context_tokens: int
    heads: int | None = None
    kv_heads: int | None = None

    def beside(self, other: Need) -> Need:
        """Both models on the same GPUs, with a KV cache each for the same tokens.

        They are split as this one is; of KV heads the fewer count, so that it is never too little.
        """
        return attrs.evolve(
            self,
            weights=self.weights + other.weights,
            kv_per_token=self.kv_per_token + other.kv_per_token,
            kv_heads=min((heads for heads in (self.kv_heads, other.kv_heads) if heads), default=None),
        )

    def splits(self, tensor: int) -> bool:
        """Whether the heads go evenly over so many tensor parallel GPUs, KV heads with copies where needed.

        vLLM's own rule (`verify_with_parallel_config`, vllm/config/model.py, and the models' attention).
        """
        if not self.heads or not self.kv_heads or self.heads % tensor:
            return False
        return self.kv_heads % tensor == 0 or tensor % self.kv_heads == 0

    def _copies(self, tensor: int) -> int:
        """Of each KV head: with more GPUs than KV heads several GPUs hold the same one."""
        return max(1, tensor // self.kv_heads) if self.kv_heads else 1

    @property
    def kv_per_developer(self) -> int:
        """For one context that is full, to be kept from one keystroke to the next."""
        return self.kv_per_token * self.context_tokens

    def developers(self, memory: int, tensor: int = 1, pipeline: int = 1) -> int:
        """Whose whole contexts fit into the replica's GPUs, ``memory`` of each for the engine; 0: none."""
        room = tensor * pipeline * (memory - GPU_OVERHEAD_BYTES) - self.weights
        return max(0, room // (self.kv_per_developer * self._copies(tensor)))

    def context_share(self, tensor: int = 1, pipeline: int = 1) -> int:
        """Of one full context, on each of the replica's GPUs."""
        return self.kv_per_developer * self._copies(tensor) // (tensor * pipeline)

    def per_gpu(self, tensor: int = 1, pipeline: int = 1, developers: int = 1) -> int:
        """What each of the replica's GPUs must have for the weights and so many full contexts."""
        contexts = developers * self.kv_per_developer * self._copies(tensor)
        return (self.weights + contexts) // (tensor * pipeline) + GPU_OVERHEAD_BYTES


def _checkpoint_bits(quantized: object) -> int | None:
    """Bits of a weight by a checkpoint's own ``quantization_config``; of compressed-tensors the most."""
    if not isinstance(quantized, Mapping):
        return None
    groups = quantized.get("config_groups")
    weights = [
        group.get("weights")
        for group in (groups.values() if isinstance(groups, Mapping) else ())
        if isinstance(group, Mapping)
    ]
    found = [one.get("num_bits") for one in weights if isinstance(one, Mapping)]
    sizes = [bits for bits in (quantized.get("bits"), *found) if isinstance(bits, int)]
    return max(sizes, default=None)


def weight_bits(preset: Preset, config: Mapping[str, Any] | None = None) -> float:
    """Bits of a weight in the layers' matrices; ``config`` is a checkpoint's config.json, if it is here.

    A quantisation that is not known counts for nothing: vLLM has some that leave such matrices as they are.
    """
    if preset.quantization in _BITS:
        return _BITS[preset.quantization]
    bits = _checkpoint_bits((config or {}).get("quantization_config"))
    if bits is not None:
        return float(bits)
    if preset.quantization == INT8_METHOD:
        return 8.0  # until a checkpoint says otherwise
    return 32.0 if preset.float32 else 16.0


def need_of(
    preset: Preset, *, config: Mapping[str, Any] | None = None, weights: int | None = None
) -> Need | None:
    """What a preset needs; None when neither it nor its config tells the model's shape.

    ``config`` is the model's config.json and ``weights`` the size of its weights by
    `codeserve.engine.folder.weight_bytes`, where they are here. Those that are quantised while they are
    loaded take less.
    """
    shape: Shape | None = preset.shape or (shape_of(config) if config is not None else None)
    if shape is None:
        return None
    bits = weight_bits(preset, config)
    estimate = int(shape.linear_parameters * bits / 8) + 2 * shape.embedding_parameters
    if weights is not None and preset.load_format != "dummy":
        estimate = min(estimate, weights) if bits < 16 else weights
    kv_bytes = 1 if preset.kv_cache_dtype.startswith("fp8") else 2
    kv_per_token = shape.kv_values * kv_bytes
    return Need(estimate, kv_per_token, preset.context_tokens, shape.heads, shape.kv_heads)


def gib(size: int) -> str:
    """A size for people."""
    return f"{size / (1 << 30):.1f} GiB"
