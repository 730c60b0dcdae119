"""Percentiles, and the figures over samples."""

from __future__ import annotations

import pytest

from codeserve.bench.stats import Sample, percentile, spread, summarise


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([], 50, None),
        ([7.0], 50, 7.0),
        ([7.0], 99, 7.0),
        ([3.0, 1.0, 2.0, 4.0], 50, 2.0),
        (range(1, 101), 95, 95),
        (range(1, 101), 99, 99),
        (range(1, 101), 100, 100),
        (range(1, 20), 95, 19),
    ],
)
def test_percentile_is_by_nearest_rank(values: list[float], percent: float, expected: float | None) -> None:
    """The smallest measured value that at least so many percent do not exceed."""
    assert percentile(values, percent) == expected


def test_spread_leaves_out_what_is_missing() -> None:
    """None is not a value."""
    result = spread([None, 2.0, None, 1.0])
    assert (result.count, result.p50, result.max) == (2, 1.0, 2.0)


def answered(total: float, *, cold: bool = False, cached: int = 95) -> Sample:
    """A sample of an answered request."""
    return Sample(
        cold=cold,
        outcome="stop",
        client_ttft_ms=total / 2,
        client_total_ms=total,
        server_queue_ms=0.1,
        server_ttft_ms=total / 4,
        server_total_ms=total - 1,
        prompt_tokens=100,
        cached_tokens=cached,
        output_tokens=5,
    )


def test_warm_and_cold_are_told_apart() -> None:
    """The cached share while typing does not hold the cold requests."""
    figures = summarise([answered(100, cold=True, cached=0), answered(10), answered(20, cached=97)], 300)
    warm, cold = figures["warm"], figures["cold"]
    assert isinstance(warm, dict)
    assert isinstance(cold, dict)
    assert warm["cached_share"] == pytest.approx(0.96)
    assert cold["cached_share"] == 0.0
    assert (warm["requests"], cold["requests"]) == (2, 1)
    assert warm["client_total_ms"]["p50"] == 10


def test_errors_count_against_the_budget_and_superseded_requests_do_not() -> None:
    """The share in time is of the requests that somebody waited for."""
    samples = [
        answered(100),
        answered(301),
        Sample(False, "overloaded", None, 3.0),
        Sample(False, "unavailable", None, 3.0),
        Sample(False, "superseded", None, 50.0),
    ]
    figures = summarise(samples, 300)
    everything = figures["all"]
    assert isinstance(everything, dict)
    assert everything["within_budget"] == 0.25
    assert (figures["overloaded"], figures["unavailable"]) == (1, 1)
    assert figures["outcomes"] == {"overloaded": 1, "stop": 2, "superseded": 1, "unavailable": 1}


def test_no_samples_give_no_figures() -> None:
    """An empty run divides by nothing."""
    everything = summarise([], 300)["all"]
    assert isinstance(everything, dict)
    assert everything["within_budget"] is None
    assert everything["client_total_ms"]["p99"] is None
