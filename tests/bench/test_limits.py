"""What the hardware allows."""

from __future__ import annotations

import pytest

from codeserve.bench.limits import Limits, rates_of
from codeserve.engine.memory import need_of
from codeserve.engine.presets import load_presets

H200 = rates_of("NVIDIA H200")


def limits(name: str) -> Limits:
    preset = load_presets()[name]
    need = need_of(preset)
    assert preset.shape is not None
    assert need is not None
    assert H200 is not None
    return Limits(preset.shape, need, H200, eight_bits="fp8" in name)


def test_cards_are_known_by_name() -> None:
    """A card's rates are found in the name that the driver gives it; others have none."""
    assert H200 is not None
    assert H200.bandwidth == 4.8e12
    assert rates_of("NVIDIA H100 80GB HBM3") is not H200
    assert rates_of("Some GPU") is None


def test_one_step_reads_all_weights() -> None:
    """A token of CodeLlama 7B takes the time to read its weights: 13.2 GB in 2.8 ms, and half in fp8."""
    assert limits("codellama-7b").step_ms(1, 0) == pytest.approx(13.2e9 / 4.8e12 * 1000, rel=0.01)
    assert limits("codellama-7b-fp8").step_ms(1, 0) == pytest.approx(1.41, abs=0.02)


def test_every_context_is_read() -> None:
    """The KV caches of a batch add to the bytes of a step."""
    one = limits("codellama-7b-fp8")
    added = one.step_ms(64, 4000) - one.step_ms(64, 0)
    assert added == pytest.approx(64 * 4000 * (256 << 10) / 4.8e12 * 1000)


def test_prefill_computes() -> None:
    """A cold prompt takes its operations: 4,000 tokens of 6.5 billion weights at the card's rate."""
    assert limits("codellama-7b-fp8").prefill_ms(1, 4000) == pytest.approx(
        2 * 4000 * 6.48e9 / 1979e12 * 1000, rel=0.12
    )
    one = limits("codellama-7b")
    assert one.prefill_ms(4, 4000) == pytest.approx(4 * one.prefill_ms(1, 4000))
    assert one.prefill_ms(1, 4000) == pytest.approx(
        2 * limits("codellama-7b-fp8").prefill_ms(1, 4000), rel=0.01
    )
