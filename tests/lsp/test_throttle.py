"""Notifications that come too fast."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from codeserve_lsp.throttle import COUNT, PERIOD_S, Throttle


class Clock:
    """The event loop's time and its one timer, which go as a test says."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.timer: tuple[float, Callable[[], None]] | None = None

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[[], None]) -> Clock:
        self.timer = (when, call)
        return self

    def cancel(self) -> None:
        self.timer = None

    def wait(self, seconds: float) -> None:
        self.now += seconds
        if self.timer is not None and self.timer[0] <= self.now:
            call, self.timer = self.timer[1], None
            call()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    return clock


def test_a_few_and_then_the_last_one(clock: Clock) -> None:
    """The first ones go at once; of the rest the last one, when it may."""
    told: list[int] = []
    throttle = Throttle(told.append)
    for number in range(1_000):
        throttle(number)
    assert told == list(range(COUNT))
    clock.wait(PERIOD_S / 2)
    assert told == list(range(COUNT))
    clock.wait(PERIOD_S / 2)
    assert told == [*range(COUNT), 999]
    throttle(1_000)
    assert told[-1] == 1_000


def test_nothing_after_the_end(clock: Clock) -> None:
    """What waits when it is closed is not told any more, nor is what comes then."""
    told: list[int] = []
    throttle = Throttle(told.append)
    for number in range(COUNT + 1):
        throttle(number)
    throttle.close()
    clock.wait(2 * PERIOD_S)
    throttle(99)
    assert told == list(range(COUNT))
