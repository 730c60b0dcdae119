"""Notifications that come too fast."""

from __future__ import annotations

import asyncio

import pytest

from codeserve_lsp import throttle as module
from codeserve_lsp.throttle import COUNT, Throttle


async def test_a_few_and_then_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones go at once; of the rest the last one, when it may."""
    monkeypatch.setattr(module, "PERIOD_S", 0.05)
    told: list[int] = []
    throttle = Throttle(told.append)
    for number in range(1_000):
        throttle(number)
    assert told == list(range(COUNT))
    await asyncio.sleep(0.1)
    assert told == [*range(COUNT), 999]
    throttle(1_000)
    assert told[-1] == 1_000


async def test_nothing_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits when it is closed is not told any more."""
    monkeypatch.setattr(module, "PERIOD_S", 0.01)
    told: list[int] = []
    throttle = Throttle(told.append)
    for number in range(COUNT + 1):
        throttle(number)
    throttle.close()
    await asyncio.sleep(0.03)
    assert told == list(range(COUNT))
