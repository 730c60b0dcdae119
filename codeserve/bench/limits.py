"""What the hardware allows at best: bytes over bandwidth, and operations over rate. Pure.

The rates are those of NVIDIA's data sheets without sparsity: "H200 Tensor Core GPU", "H100 Tensor Core GPU"
(SXM5), "A100 Tensor Core GPU" (80 GB, SXM4), "L40S GPU", and for the RTX 4090 appendix A of the whitepaper
"Ada GPU Architecture" (16 and 8 bits added up in 32). A card without 8-bit floating point computes such
weights in 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from codeserve.engine.int8 import INT8_METHOD, is_int8
from codeserve.engine.memory import Need
from codeserve.engine.preset import Preset
from codeserve.engine.shape import Shape

__all__ = ["RATES", "Arithmetic", "Limits", "Rates", "arithmetic", "rates_of"]

Arithmetic = Literal["16 bits", "fp8", "int8"]


@attrs.frozen
class Rates:
    """Of a card: memory in bytes a second; dense matrix operations a second with floating point of 16 and of
    8 bits, and with integers of 8.
    """

    bandwidth: float
    flops_16: float
    flops_8: float
    int8: float

    def times(self, cards: int) -> Rates:
        """Of so many cards, each of which has its part of every matrix."""
        return Rates(cards * self.bandwidth, cards * self.flops_16, cards * self.flops_8, cards * self.int8)


# By the whole name that the driver gives: cards of a like name, such as the GH200, the H100 PCIe and the A100
# with 40 GB, have other rates.
RATES: Mapping[str, Rates] = {
    "NVIDIA H200": Rates(4.8e12, 989e12, 1979e12, 1979e12),
    "NVIDIA H100 80GB HBM3": Rates(3.35e12, 989e12, 1979e12, 1979e12),
    "NVIDIA A100-SXM4-80GB": Rates(2.04e12, 312e12, 312e12, 624e12),
    "NVIDIA L40S": Rates(0.864e12, 362e12, 733e12, 733e12),
    "NVIDIA GeForce RTX 4090": Rates(1.008e12, 165e12, 330e12, 660e12),
}


def rates_of(name: str) -> Rates | None:
    """The rates of a card by the name that its driver gives it; None for one that is not known."""
    return RATES.get(name)


def arithmetic(preset: Preset, config: Mapping[str, Any]) -> Arithmetic:
    """What the layers' matrices are computed in; ``config`` is the model's config.json.

    Weights of which the form alone is small, as those of AWQ and GPTQ, are computed in 16 bits.
    """
    if (preset.quantization or "").startswith("fp8"):
        return "fp8"
    quantized = config.get("quantization_config")
    if not isinstance(quantized, Mapping):
        return "int8" if preset.quantization == INT8_METHOD else "16 bits"
    if is_int8(config):
        return "int8"
    # what a checkpoint says of itself: vLLM's own method, and compressed-tensors' form
    eight = quantized.get("quant_method") == "fp8" or quantized.get("format") == "float-quantized"
    return "fp8" if eight else "16 bits"


@attrs.frozen
class Limits:
    """The least milliseconds that steps of a model can take at ``rates``."""

    shape: Shape
    need: Need
    rates: Rates
    arithmetic: Arithmetic

    def _ms(self, size: float, operations: float) -> float:
        rates = {"16 bits": self.rates.flops_16, "fp8": self.rates.flops_8, "int8": self.rates.int8}
        return 1000 * max(size / self.rates.bandwidth, operations / rates[self.arithmetic])

    def step_ms(self, batch: int, context: int) -> float:
        """One token more for each of ``batch`` sequences with so many tokens of context.

        Every weight is read once, but of the embedding only a row a sequence; every sequence's KV cache is.
        """
        embedding = 0 if self.shape.tied else 2 * self.shape.vocabulary * self.shape.hidden
        size = self.need.weights - embedding + batch * context * self.need.kv_per_token
        output = self.shape.vocabulary * self.shape.hidden
        operations = 2 * batch * (self.shape.linear_parameters + output)
        attention = 4 * batch * context * self.shape.layers * self.shape.heads * self.shape.width
        return self._ms(size, operations + attention)

    def prefill_ms(self, batch: int, tokens: int) -> float:
        """All of ``batch`` prompts of so many tokens, nothing of them cached: the last one's first token."""
        operations = 2 * batch * tokens * self.shape.linear_parameters
        # Each token looks at half of them on average.
        attention = 2 * batch * tokens**2 * self.shape.layers * self.shape.heads * self.shape.width
        return self._ms(self.need.weights, operations + attention)
