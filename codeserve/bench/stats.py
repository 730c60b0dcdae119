"""Numbers from samples: percentiles and shares, by one rule each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import attrs

__all__ = ["ERRORS", "Sample", "Spread", "percentile", "spread", "summarise"]

# What `Sample.outcome` holds for requests that ended in an error, as they are counted in the report.
ERRORS = ("overloaded", "unavailable")


@attrs.frozen
class Sample:
    """One request of a developer. Times are milliseconds; the server's are None where it did not answer."""

    cold: bool  # the first request in a place
    outcome: str  # the finish reason, or an error's code
    client_ttft_ms: float | None  # until the first text was here
    client_total_ms: float
    server_queue_ms: float | None = None
    server_ttft_ms: float | None = None  # until the engine's first token, shown or not
    server_total_ms: float | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    accepted: bool = False

    @property
    def answered(self) -> bool:
        """Whether the server's own answer came: no error, and not ended here by a newer request."""
        return self.server_total_ms is not None


@attrs.frozen
class Spread:
    """How values are spread. Percentiles are by nearest rank (`percentile`)."""

    count: int
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


def percentile(values: Iterable[float], percent: float) -> float | None:
    """The nearest-rank percentile: the smallest value that at least ``percent`` % of all do not exceed.

    Always a value that was measured, never one in between. None without values.
    """
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def spread(values: Iterable[float | None]) -> Spread:
    """The spread of the values that are there."""
    known = [value for value in values if value is not None]
    p50, p95, p99, top = (percentile(known, percent) for percent in (50, 95, 99, 100))
    return Spread(len(known), p50, p95, p99, top)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _latency(samples: Sequence[Sample], budget_ms: float) -> dict[str, object]:
    answered = [sample for sample in samples if sample.answered]
    prompt = sum(sample.prompt_tokens for sample in answered)
    in_time = sum(sample.client_total_ms <= budget_ms for sample in answered)
    # superseded requests were given up by the developer: they count neither for nor against the budget
    due = [sample for sample in samples if sample.outcome not in ("superseded", "cancelled")]
    return {
        "requests": len(samples),
        "answered": len(answered),
        "client_ttft_ms": attrs.asdict(spread(sample.client_ttft_ms for sample in answered)),
        "client_total_ms": attrs.asdict(spread(sample.client_total_ms for sample in answered)),
        "server_queue_ms": attrs.asdict(spread(sample.server_queue_ms for sample in answered)),
        "server_ttft_ms": attrs.asdict(spread(sample.server_ttft_ms for sample in answered)),
        "server_total_ms": attrs.asdict(spread(sample.server_total_ms for sample in answered)),
        "within_budget": _share(in_time, len(due)),
        "cached_share": _share(sum(sample.cached_tokens for sample in answered), prompt),
        "prompt_tokens": attrs.asdict(spread(sample.prompt_tokens or None for sample in answered)),
        "output_tokens": sum(sample.output_tokens for sample in answered),
    }


def summarise(samples: Sequence[Sample], budget_ms: float) -> dict[str, object]:
    """Figures over all requests, and over warm (typing in a place) and cold ones (the first there) apart."""
    outcomes = Counter(sample.outcome for sample in samples)
    return {
        "budget_ms": budget_ms,
        "percentile_rule": "nearest rank",
        "requests": len(samples),
        "outcomes": dict(sorted(outcomes.items())),
        **{name: outcomes[name] for name in ERRORS},
        "accepted": sum(sample.accepted for sample in samples),
        "all": _latency(samples, budget_ms),
        "warm": _latency([sample for sample in samples if not sample.cold], budget_ms),
        "cold": _latency([sample for sample in samples if sample.cold], budget_ms),
    }
