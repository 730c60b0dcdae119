"""Whether a preset fits the GPUs that are here."""

from __future__ import annotations

from typing import Any

import pytest

from codeserve.engine.gpu_check import check_gpu
from codeserve.engine.machine import Gpu
from codeserve.engine.memory import Need, need_of
from codeserve.engine.presets import Preset, load_presets

GIB = 1 << 30


def need(weights_gib: int, kv_gib: int = 1) -> Need:
    return Need(weights_gib * GIB, kv_gib * GIB // 1024, 1024)


def preset(**fields: Any) -> Preset:
    return Preset(**{"name": "test", "model": "x/y", "fim": "codellama-spm", **fields})


def test_no_gpu_fails() -> None:
    """A preset for a GPU without one names the way out."""
    check = check_gpu(preset(device="gpu"), None, [])
    assert check.status == "fail"
    assert "mini-codellama" in check.message


def test_too_few_gpus_fail() -> None:
    """Tensor parallel over two GPUs with one at hand fails."""
    check = check_gpu(preset(tensor_parallel=2), None, [Gpu("A", 80 * GIB, 80 * GIB)])
    assert check.status == "fail"
    assert "only 1 of 2" in check.message


def test_weights_above_a_gpu_fail_and_halves_fit() -> None:
    """Weights are weighed against each GPU's share of them."""
    cards = [Gpu("A", 24 * GIB, 24 * GIB)] * 2
    assert check_gpu(preset(), need(26), cards).status == "fail"
    assert check_gpu(preset(tensor_parallel=2), need(26), cards).status == "ok"


def test_gpu_that_others_hold() -> None:
    """What other programs hold of the engine's share ends its start: they go, or the share is smaller where
    the model would fit into that, by the card with the least room.
    """
    check = check_gpu(preset(), need(13), [Gpu("A", 24 * GIB, 8 * GIB)])
    assert check.status == "fail"
    assert "A has 7.5 GiB left beside CUDA itself and other programs, which hold 16.0 GiB" in check.message
    assert check.message.endswith("gpu_memory_utilization = 0.9 takes 21.6 GiB: end the other programs")
    check = check_gpu(preset(), need(13), [Gpu("A", 80 * GIB, 60 * GIB)])
    assert check.message.endswith("end the other programs, or set it to at most 0.74 in the preset")
    cards = [Gpu("A", 80 * GIB, 79 * GIB), Gpu("B", 80 * GIB, 40 * GIB)]
    check = check_gpu(preset(tensor_parallel=2), need(13), cards)
    assert "B has 39.5 GiB left" in check.message
    assert check.message.endswith("or set it to at most 0.49 in the preset")
    lower = preset(tensor_parallel=2, gpu_memory_utilization=0.49)
    assert check_gpu(lower, need(13), cards).status == "ok"


def test_all_of_a_gpu_is_never_free() -> None:
    """The engine's own CUDA takes a part of an idle card, so that nobody can have all of it."""
    idle = [Gpu("A", 80 * GIB, 80 * GIB)]
    check = check_gpu(preset(gpu_memory_utilization=1.0), None, idle)
    assert check.status == "fail"
    assert "at most 0.99" in check.message
    assert check_gpu(preset(gpu_memory_utilization=0.99), None, idle).status == "ok"


def test_gpu_of_unknown_size_is_told() -> None:
    """Where a GPU's memory is not known nothing is refused, and the finding says what has to be free."""
    check = check_gpu(preset(), need(13), [Gpu("GB10", None, None)])
    assert check.status == "warn"
    assert "GB10: nvidia-smi does not tell the memory" in check.message
    assert "17.0 GiB a GPU" in check.message


def test_kv_cache_of_one_developer_must_fit() -> None:
    """Weights that leave no room for a single context are refused, with both sizes."""
    check = check_gpu(preset(), need(18, kv_gib=2), [Gpu("A", 24 * GIB, 24 * GIB)])
    assert check.status == "fail"
    assert "18.0 GiB of weights, 2.0 GiB of KV cache a developer" in check.message


def test_developers_are_told() -> None:
    """Where it fits, the finding says for how many: of all replicas, and by their cards."""
    check = check_gpu(preset(), need(7), [Gpu("H200", 141 * GIB, 141 * GIB)])
    assert check.status == "ok"
    assert "room for 116 at a time" in check.message
    cards = [Gpu("H200", 141 * GIB, 141 * GIB)] * 2
    assert "room for 232 at a time" in check_gpu(preset(data_parallel=2), need(7), cards).message
    assert "room for 240 at a time" in check_gpu(preset(tensor_parallel=2), need(7), cards).message


@pytest.mark.parametrize(
    ("capability", "status", "way"),
    [
        ((8, 0), "fail", "serve codellama-13b-gptq, which fits"),
        ((8, 9), "ok", ""),
        ((12, 0), "ok", ""),
        (None, "ok", ""),  # not told
    ],
)
def test_fp8_needs_a_newer_gpu(capability: tuple[int, int] | None, status: str, way: str) -> None:
    """A KV cache in fp8 is refused on a card that is known to be too old, with a preset without fp8."""
    presets = load_presets()
    cards = [Gpu("NVIDIA A10", 20 * GIB, 20 * GIB, capability)]
    one = presets["codellama-7b-fp8"]
    check = check_gpu(one, need_of(one), cards, presets)
    assert check.status == status
    assert way in check.message
    assert "\n" not in check.message


def test_fp8_is_not_named_for_an_older_gpu() -> None:
    """A preset without fp8 is named in place of one that does not fit; weights alone in fp8 are let be."""
    presets = load_presets()
    cards = [Gpu("NVIDIA A100", 40 * GIB, 40 * GIB, (8, 0))]
    check = check_gpu(presets["qwen2.5-coder-32b"], need_of(presets["qwen2.5-coder-32b"]), cards, presets)
    assert "serve qwen2.5-coder-14b, which fits" in check.message
    assert check_gpu(preset(quantization="fp8"), need(13), cards).status == "ok"


def test_kv_cache_of_a_fixed_size() -> None:
    """It is what a card needs beside its weights, out of what is free, and what developers share."""
    cards = [Gpu("A", 24 * GIB, 22 * GIB)]
    check = check_gpu(preset(kv_cache_bytes=5 * GIB, gpu_memory_utilization=0.3), need(13), cards)
    assert check.status == "ok"
    assert check.message.endswith("room for 5 at a time")
    check = check_gpu(preset(kv_cache_bytes=7 * GIB, gpu_memory_utilization=0.8), need(13), cards)
    assert check.status == "fail"
    assert "23.0 GiB a GPU needed" in check.message
    assert "set kv_cache_bytes lower, or serve" in check.message
    large = check_gpu(preset(kv_cache_bytes=7 * GIB, gpu_memory_utilization=0.8), need(30), cards)
    assert "kv_cache_bytes" not in large.message
    half = [Gpu("A", 24 * GIB, 12 * GIB)]
    assert check_gpu(preset(kv_cache_bytes=GIB), need(7), half).message.endswith("at most 0.47 in the preset")
    assert check_gpu(preset(kv_cache_bytes=GIB), need(13), half).message.endswith("end the other programs")


def test_kv_cache_below_one_context() -> None:
    """A fixed KV cache that holds less than one context is refused with the size that would do, a GPU's."""
    cards = [Gpu("A", 80 * GIB, 80 * GIB)] * 2
    check = check_gpu(preset(kv_cache_bytes=GIB), need(7, kv_gib=2), cards)
    assert check.status == "fail"
    assert f"set kv_cache_bytes in the preset to {2 * GIB} or more" in check.message
    assert check_gpu(preset(kv_cache_bytes=GIB, tensor_parallel=2), need(7, kv_gib=2), cards).status == "ok"


def test_it_is_not_told_to_serve_itself() -> None:
    """Weights that are here and larger than the preset's sizes say are not told to be served again."""
    presets = load_presets()
    large = need_of(presets["codellama-7b"], weights=60 * GIB)
    check = check_gpu(presets["codellama-7b"], large, [Gpu("A", 24 * GIB, 24 * GIB)], presets)
    assert check.status == "fail"
    assert "serve codellama-7b," not in check.message
    assert "serve codellama-" in check.message


@pytest.mark.parametrize(
    ("name", "gib", "count", "way"),
    [
        (
            "codellama-13b",
            24,
            1,
            "serve codellama-13b-int8, which fits (its weights are made by `codeserve quantize`)",
        ),
        ("codellama-13b", 16, 1, "serve codellama-13b-"),
        ("codellama-13b", 24, 2, "set tensor_parallel = 2 in the preset"),
        ("qwen2.5-coder-32b", 24, 8, "set tensor_parallel = 4 in the preset"),
        ("qwen2.5-coder-32b", 24, 2, "serve qwen2.5-coder-14b-fp8, which fits"),
        ("codellama-7b", 3, 2, "there (A): serve mini-codellama on the CPU"),
        ("codellama-7b", 3, 1, "mini-codellama"),
    ],
)
def test_preset_that_would_fit_is_named(name: str, gib: int, count: int, way: str) -> None:
    """Too large a model is refused with the largest one of its kind that this GPU can hold."""
    presets = load_presets()
    check = check_gpu(
        presets[name], need_of(presets[name]), [Gpu("A", gib * GIB, gib * GIB)] * count, presets
    )
    assert check.status == "fail"
    assert way in check.message
    assert "\n" not in check.message
