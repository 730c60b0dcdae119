"""How admission learns what the engine takes."""

from __future__ import annotations

import pytest

from codeserve.server.pace import LINE_TOKENS, Pace, Service


def service(
    live: float,
    ttft_ms: float | None = 20.0,
    tpot_ms: float | None = 5.0,
    *,
    age_ms: float = 100.0,
    cached_tokens: int = 1000,
    known: bool = True,
) -> Service:
    return Service(live, age_ms, ttft_ms, tpot_ms, 1000, cached_tokens, known)


def taught(*services: Service, times: int = 20) -> Pace:
    pace = Pace()
    for _ in range(times):
        for one in services:
            pace.observe(one)
    return pace


def test_nothing_is_said_too_early() -> None:
    """Until a few requests were seen nothing is foretold."""
    assert taught(service(1), times=6).line_ms(1, known=True) is None
    assert taught(service(1), times=7).line_ms(1, known=True) is not None


def test_a_line() -> None:
    """A line is its first token and the ones after it."""
    assert taught(service(1)).line_ms(1, known=True) == pytest.approx(20 + LINE_TOKENS * 5)


def test_grows_with_the_load() -> None:
    """From two loads the others are known, as far as they lie on a line."""
    pace = taught(service(1, 20, 5), service(11, 40, 10))
    low, high = 20 + LINE_TOKENS * 5, 40 + LINE_TOKENS * 10
    assert pace.line_ms(1, known=True) == pytest.approx(low, rel=0.05)
    assert pace.line_ms(11, known=True) == pytest.approx(high, rel=0.05)
    assert pace.line_ms(6, known=True) == pytest.approx((low + high) / 2, rel=0.05)
    assert pace.line_ms(21, known=True) == pytest.approx(2 * high - low, rel=0.05)


def test_company_never_helps() -> None:
    """Requests that happened to be faster under load do not make more of them look better."""
    pace = taught(service(1, 60), service(9, 20))
    one, many = pace.line_ms(1, known=True), pace.line_ms(30, known=True)
    assert one is not None
    assert many == pytest.approx(one)


def test_one_load_only() -> None:
    """Where the load never varied more of it looks like now, and less of it like taking turns."""
    pace = taught(service(10, 200, 10))
    assert pace.line_ms(20, known=True) == pytest.approx(320)
    assert pace.line_ms(10, known=True) == pytest.approx(320)
    assert pace.line_ms(1, known=True) == pytest.approx(32)


def test_cold_prompts_cost_their_prefill() -> None:
    """A document that is new to its client is expected to be prefilled, at the speed that was measured."""
    cold = service(1, 140, 5, cached_tokens=0, known=False)
    pace = taught(service(1), cold, times=60)
    warm_line = 20 + LINE_TOKENS * 5
    assert pace.line_ms(1, known=True) == pytest.approx(warm_line, rel=0.1)
    assert pace.line_ms(1, known=False) == pytest.approx(warm_line + 120, rel=0.1)


def test_cache_that_thrashes() -> None:
    """Where known documents have lost their blocks, they are expected to be prefilled too."""
    pace = taught(service(1, 140, 5, cached_tokens=0), times=60)
    assert pace.line_ms(1, known=True) == pytest.approx(140 + LINE_TOKENS * 5, rel=0.1)


def test_requests_without_a_token() -> None:
    """One that ended without a token counts only if it took longer than was thought."""
    pace = taught(service(8, 100, 10))
    before = pace.line_ms(8, known=True)
    for _ in range(50):
        pace.observe(service(8, None, None, age_ms=30.0))  # superseded by the next keystroke
    assert pace.line_ms(8, known=True) == before
    for _ in range(50):
        pace.observe(service(8, None, None, age_ms=900.0))
    after = pace.line_ms(8, known=True)
    assert after is not None
    assert after > 800


def test_learns_from_nothing_but_empty_deadlines() -> None:
    """An engine that gets nobody anything in time is known to be too slow."""
    pace = taught(service(50, None, None, age_ms=300.0))
    line = pace.line_ms(50, known=True)
    assert line is not None
    assert line >= 299


def test_forgets() -> None:
    """What it takes now counts, not what it took long ago."""
    pace = taught(service(4, 500, 50))
    for _ in range(300):
        pace.observe(service(4, 20, 5))
    assert pace.line_ms(4, known=True) == pytest.approx(80, rel=0.05)
