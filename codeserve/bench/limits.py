"""What the hardware allows at best: bytes over bandwidth, and operations over rate. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from codeserve.engine.memory import Need
from codeserve.engine.shape import Shape

__all__ = ["RATES", "Limits", "Rates", "rates_of"]


@attrs.frozen
class Rates:
    """Of a card: memory in bytes a second, dense matrix operations a second with 16 and with 8 bits."""

    bandwidth: float
    flops_16: float
    flops_8: float


# The vendor's data sheets, without sparsity. A card without 8-bit floating point computes such weights in 16.
RATES: Mapping[str, Rates] = {
    "H200": Rates(4.8e12, 989e12, 1979e12),
    "H100": Rates(3.35e12, 989e12, 1979e12),
    "A100": Rates(2.04e12, 312e12, 312e12),
    "L40S": Rates(0.864e12, 362e12, 733e12),
    "RTX 4090": Rates(1.008e12, 165e12, 330e12),
}


def rates_of(name: str) -> Rates | None:
    """The rates of a card by the name that its driver gives it."""
    return next((rates for part, rates in RATES.items() if part in name), None)


@attrs.frozen
class Limits:
    """The least milliseconds that steps of a model can take on a card; ``eight_bits`` of its weights."""

    shape: Shape
    need: Need
    rates: Rates
    eight_bits: bool

    def _ms(self, size: float, operations: float) -> float:
        rate = self.rates.flops_8 if self.eight_bits else self.rates.flops_16
        return 1000 * max(size / self.rates.bandwidth, operations / rate)

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
