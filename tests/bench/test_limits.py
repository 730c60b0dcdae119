"""What the hardware allows."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from codeserve.bench.limits import Arithmetic, Limits, arithmetic, rates_of
from codeserve.engine.int8 import INT8_CONFIG
from codeserve.engine.memory import need_of
from codeserve.engine.presets import load_presets

H200 = rates_of("NVIDIA H200")


def limits(name: str) -> Limits:
    preset = load_presets()[name]
    need = need_of(preset)
    assert preset.shape is not None
    assert need is not None
    assert H200 is not None
    return Limits(preset.shape, need, H200, arithmetic(preset, {}))


def test_cards_are_known_by_name() -> None:
    """A card's rates are found by the name that the driver gives it; others have none, however like."""
    assert H200 is not None
    assert H200.bandwidth == 4.8e12
    assert rates_of("NVIDIA H100 80GB HBM3") not in (H200, None)
    for other in ("Some GPU", "NVIDIA GH200 480GB", "NVIDIA H100 PCIe", "NVIDIA A100-SXM4-40GB"):
        assert rates_of(other) is None


@pytest.mark.parametrize(
    ("name", "config", "computed"),
    [
        ("codellama-7b", {}, "16 bits"),
        ("codellama-7b-fp8", {}, "fp8"),
        ("codellama-7b-int8", {}, "int8"),
        ("codellama-7b-int8", {"quantization_config": INT8_CONFIG}, "int8"),
        ("codellama-7b", {"quantization_config": INT8_CONFIG}, "int8"),
        ("codellama-7b", {"quantization_config": {"quant_method": "fp8"}}, "fp8"),
        ("codellama-7b", {"quantization_config": {"format": "float-quantized"}}, "fp8"),
        ("codellama-7b-gptq", {"quantization_config": {"quant_method": "gptq", "bits": 8}}, "16 bits"),
    ],
)
def test_what_is_computed_in(name: str, config: dict[str, Any], computed: str) -> None:
    """Integers and floating point of 8 bits have rates of their own; small weights alone do not."""
    assert arithmetic(load_presets()[name], config) == computed


def test_int8_has_its_own_rate() -> None:
    """A card without 8-bit floating point computes twice as fast in INT8 as in 16 bits, and fp8 no faster."""
    rates = rates_of("NVIDIA A100-SXM4-80GB")
    assert rates is not None
    kinds: tuple[Arithmetic, ...] = ("16 bits", "fp8", "int8")
    ms = {
        kind: attrs.evolve(limits("codellama-7b"), rates=rates, arithmetic=kind).prefill_ms(1, 4000)
        for kind in kinds
    }
    assert ms["16 bits"] == ms["fp8"] == pytest.approx(2 * ms["int8"])


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
