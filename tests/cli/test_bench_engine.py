"""`codeserve bench speculation`: which drafting its flags ask for."""

from __future__ import annotations

from typing import Any

import pytest

from codeserve.bench import speculation as measured
from codeserve.commands import bench_engine
from codeserve.engine.drafting import AUTO_MAX_BATCH, AUTO_MIN_ACCEPTED
from codeserve.engine.preset import Speculation
from codeserve.errors import ConfigError


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Speculation]:
    """No engine is started; the methods that one would have been started for."""
    methods: list[Speculation] = []

    async def run_speculation(_: Any, plan: measured.SpeculationPlan, __: Any) -> dict[str, Any]:
        methods.extend(plan.methods)
        return {}

    monkeypatch.setattr(measured, "run_speculation", run_speculation)
    return methods


def test_auto_is_measured_beside_the_method_itself(asked: list[Speculation]) -> None:
    """With --auto each method runs as it is, then with the limits that the setting "auto" gives it."""
    bench_engine.speculation(method=["ngram", "eagle=e"], auto=True)
    assert [one.method for one in asked] == ["ngram", "ngram", "eagle", "eagle"]
    assert [one.max_batch for one in asked] == [0, AUTO_MAX_BATCH, 0, AUTO_MAX_BATCH]
    assert [one.min_accepted for one in asked] == [0, AUTO_MIN_ACCEPTED, 0, AUTO_MIN_ACCEPTED]


def test_auto_is_refused_for_suffix(asked: list[Speculation]) -> None:
    """A method that cannot pause has no "auto": one line says so, and nothing is measured."""
    with pytest.raises(ConfigError, match='use "on", or another method') as caught:
        bench_engine.speculation(method=["suffix"], auto=True)
    assert "\n" not in str(caught.value)
    assert asked == []


def test_without_auto_each_method_runs_once(asked: list[Speculation]) -> None:
    """The limits of "auto" are measured only where they are asked for."""
    bench_engine.speculation(method=["ngram"])
    assert asked == [Speculation(method="ngram")]
