"""The INT8 form that codeserve writes and vLLM computes, on GPUs and on CPUs alike.

compressed-tensors' ``int-quantized``: 8-bit weights with a scale for each row, 8-bit activations with a scale
for each token, taken while it runs. Embeddings, the output layer, biases and norms keep 16 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["INT8_CONFIG", "INT8_METHOD", "is_int8"]

INT8_METHOD = "compressed-tensors"

_SYMMETRIC: dict[str, Any] = {"num_bits": 8, "type": "int", "symmetric": True}

# What config.json says of such weights, under ``quantization_config``.
INT8_CONFIG: Mapping[str, Any] = {
    "quant_method": INT8_METHOD,
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


def is_int8(config: Mapping[str, Any]) -> bool:
    """Whether a config.json is of a model in compressed-tensors' ``int-quantized``."""
    quantized = config.get("quantization_config")
    return isinstance(quantized, Mapping) and quantized.get("format") == INT8_CONFIG["format"]
