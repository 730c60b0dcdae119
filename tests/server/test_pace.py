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
    since_s: float | None = 1.0,
) -> Service:
    return Service(live, age_ms, ttft_ms, tpot_ms, 1000, cached_tokens, since_s)


def taught(*services: Service, times: int = 20) -> Pace:
    pace = Pace()
    for _ in range(times):
        for one in services:
            pace.observe(one)
    return pace


def test_nothing_is_said_too_early() -> None:
    """Until a few requests were seen nothing is foretold."""
    assert taught(service(1), times=6).line_ms(1, since_s=1.0) is None
    assert taught(service(1), times=7).line_ms(1, since_s=1.0) is not None


def test_a_line() -> None:
    """A line is its first token and the ones after it."""
    assert taught(service(1)).line_ms(1, since_s=1.0) == pytest.approx(20 + LINE_TOKENS * 5)


def test_grows_with_the_load() -> None:
    """From two loads the others are known, as far as they lie on a line."""
    pace = taught(service(1, 20, 5), service(11, 40, 10))
    low, high = 20 + LINE_TOKENS * 5, 40 + LINE_TOKENS * 10
    assert pace.line_ms(1, since_s=1.0) == pytest.approx(low, rel=0.05)
    assert pace.line_ms(11, since_s=1.0) == pytest.approx(high, rel=0.05)
    assert pace.line_ms(6, since_s=1.0) == pytest.approx((low + high) / 2, rel=0.05)
    assert pace.line_ms(21, since_s=1.0) == pytest.approx(2 * high - low, rel=0.05)


def test_company_never_helps() -> None:
    """Requests that happened to be faster under load do not make more of them look better."""
    pace = taught(service(1, 60), service(9, 20))
    one, many = pace.line_ms(1, since_s=1.0), pace.line_ms(30, since_s=1.0)
    assert one is not None
    assert many == pytest.approx(one)


def test_one_load_only() -> None:
    """Where the load never varied more of it looks like now, and less of it like taking turns."""
    pace = taught(service(10, 200, 10))
    assert pace.line_ms(20, since_s=1.0) == pytest.approx(200 + LINE_TOKENS * 10)
    assert pace.line_ms(10, since_s=1.0) == pytest.approx(200 + LINE_TOKENS * 10)
    assert pace.line_ms(1, since_s=1.0) == pytest.approx(20 + LINE_TOKENS)


def test_cold_prompts_cost_their_prefill() -> None:
    """A document that is new to its client is expected to be prefilled, at the speed that was measured."""
    cold = service(1, 140, 5, cached_tokens=0, since_s=None)
    pace = taught(service(1), cold, times=60)
    warm = 20 + LINE_TOKENS * 5
    assert pace.line_ms(1, since_s=1.0) == pytest.approx(warm, rel=0.1)
    assert pace.line_ms(1, since_s=None) == pytest.approx(warm + 120, rel=0.1)
    among_others = pace.line_ms(5, since_s=None)
    assert among_others is not None
    assert among_others > warm + 2 * 120  # it delays them


def test_cached_blocks_go_with_time() -> None:
    """How much is still cached is learnt by how long ago a document was last worked on."""
    gone = service(1, 140, 5, cached_tokens=0, since_s=30.0)
    pace = taught(service(1), gone, times=60)
    after = [pace.line_ms(1, since_s=seconds) or 0 for seconds in (0.5, 30.0)]
    assert after[0] + 100 < after[1]


def test_cache_that_thrashes() -> None:
    """Where known documents have lost their blocks, they are expected to be prefilled too."""
    pace = taught(service(1, 140, 5, cached_tokens=0), times=60)
    line = pace.line_ms(1, since_s=1.0)
    assert line is not None
    assert line >= 0.9 * (140 + LINE_TOKENS * 5)


def test_requests_without_a_token() -> None:
    """One that ended without a token counts only if it took longer than was thought."""
    pace = taught(service(8, 100, 10))
    before = pace.line_ms(8, since_s=1.0)
    for _ in range(50):
        pace.observe(service(8, None, None, age_ms=30.0))  # superseded by the next keystroke
    assert pace.line_ms(8, since_s=1.0) == before
    for _ in range(50):
        pace.observe(service(8, None, None, age_ms=900.0))
    after = pace.line_ms(8, since_s=1.0)
    assert after is not None
    assert after > 800


def test_learns_from_nothing_but_empty_deadlines() -> None:
    """An engine that gets nobody anything in time is known to be too slow."""
    pace = taught(service(50, None, None, age_ms=300.0))
    line = pace.line_ms(50, since_s=1.0)
    assert line is not None
    assert line >= 299


@pytest.mark.parametrize("stop_ms", [3_000.0, 60_000.0])
@pytest.mark.parametrize("ttft_ms", [None, 1.0])
def test_one_stop_of_everything(stop_ms: float, ttft_ms: float | None) -> None:
    """A machine that stood still for a while is not taken for a slow one for long."""
    pace = taught(service(1), service(4, 30, 6), times=50)
    pace.observe(service(2, ttft_ms and stop_ms, None, age_ms=stop_ms))
    for _ in range(60):
        pace.observe(service(1))
    line = pace.line_ms(2, since_s=1.0)
    assert line is not None
    assert line < 300


def test_engine_that_has_become_slow() -> None:
    """What is slow time after time is believed, however far it is from what was known."""
    pace = taught(service(2, 20, 5), times=50)
    lines = []
    for _ in range(60):
        pace.observe(service(2, 5_000, 300))
        lines.append(pace.line_ms(2, since_s=1.0) or 0.0)
    assert lines[2] > 300
    assert lines[-1] > 5_000


def test_forgets() -> None:
    """What it takes now counts, not what it took long ago."""
    pace = taught(service(4, 500, 50))
    for _ in range(300):
        pace.observe(service(4, 20, 5))
    assert pace.line_ms(4, since_s=1.0) == pytest.approx(20 + LINE_TOKENS * 5, rel=0.05)


def test_a_stop_with_many_in_the_engine() -> None:
    """After a stop that many sequences sat through, two dozen fast answers are enough to hope again."""
    pace = taught(service(4, 10, 2), service(30, 40, 4), times=30)
    before = pace.line_ms(20, since_s=1.0)
    for _ in range(60):
        pace.observe(service(30, None, None, age_ms=300.0))
    stopped = pace.line_ms(20, since_s=1.0)
    for _ in range(25):
        pace.observe(service(10, 15, 2.5))
    after = pace.line_ms(20, since_s=1.0)
    assert before is not None
    assert stopped is not None
    assert after is not None
    assert before < 200
    assert stopped > 300
    assert after < 300
