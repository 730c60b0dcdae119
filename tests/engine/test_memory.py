"""What presets need of a GPU's memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import torch

from codeserve.engine.folder import read_config, weight_bytes
from codeserve.engine.memory import GPU_OVERHEAD_BYTES, Need, need_of, weight_bits
from codeserve.engine.preset import Preset
from codeserve.engine.presets import load_presets
from codeserve.engine.shape import shape_of

from .llama import TINY, tensors, tiny
from .models import MINI

GB, GIB = 10**9, 1 << 30
PRESETS = load_presets()


def need(name: str, **changes: Any) -> Need:
    found = need_of(attrs.evolve(PRESETS[name], **changes))
    assert found is not None
    return found


def test_bundled_model_is_counted_exactly() -> None:
    """From its config the bundled model's weights, INT8 but for the embeddings, come out as large as its
    files, but for norms and scales.
    """
    shape = shape_of(read_config(MINI))
    assert shape is not None
    counted = shape.linear_parameters + 2 * shape.embedding_parameters
    assert 0 < weight_bytes(MINI) - counted < 150_000
    assert shape.kv_values * 2 == 4096  # bytes a token


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("codellama-7b", 6.74),
        ("codellama-13b", 13.02),
        ("qwen2.5-coder-1.5b", 1.54),
        ("qwen2.5-coder-7b", 7.62),
        ("qwen2.5-coder-32b", 32.8),
        ("starcoder2-3b", 3.03),
        ("starcoder2-7b", 7.17),
        ("starcoder2-15b", 15.96),
        ("deepseek-coder-1.3b", 1.35),
        ("deepseek-coder-6.7b", 6.74),
        ("deepseek-coder-33b", 33.3),
    ],
)
def test_parameters_are_as_published(name: str, billions: float) -> None:
    """The shapes give the numbers of parameters that the models are published with."""
    shape = PRESETS[name].shape
    assert shape is not None
    assert shape.linear_parameters + shape.embedding_parameters == pytest.approx(billions * 1e9, rel=0.01)


def test_kv_cache_by_token() -> None:
    """CodeLlama 7B takes 512 KiB a token, half of it in fp8; grouped queries take a fraction."""
    assert need("codellama-7b").kv_per_token == 512 << 10
    assert need("codellama-7b-fp8").kv_per_token == 256 << 10
    assert need("qwen2.5-coder-7b").kv_per_token == 56 << 10


def test_fewer_bits_take_less() -> None:
    """Weights of 16, 8 and 4 bits take less and less; the embeddings keep theirs."""
    names = ("codellama-7b", "codellama-7b-fp8", "codellama-7b-int8", "codellama-7b-awq")
    sizes = [need(name).weights / GB for name in names]
    assert sizes == [pytest.approx(size, abs=0.1) for size in (13.5, 7.0, 7.0, 3.9)]


def test_developers() -> None:
    """An H200 holds so many whole contexts of CodeLlama 7B in fp8; half of them with twice the context."""
    room = int(141 * GB * 0.9)
    one = need("codellama-7b-fp8")
    assert one.kv_per_developer == GIB
    assert one.developers(room) == 108
    assert need("codellama-7b-fp8", context_tokens=8192).developers(room) == 54
    assert one.developers(8 * GB) == 0
    assert one.developers(room, tensor=2) > 2 * 108


def test_what_a_gpu_needs() -> None:
    """Over several GPUs each has its part of the weights and of the KV cache, and its own overhead."""
    one = Need(20 * GIB, 1 << 20, 1024)
    assert one.per_gpu(1) == 21 * GIB + GPU_OVERHEAD_BYTES
    assert one.per_gpu(2, developers=4) == one.per_gpu(1, 2, developers=4) == 12 * GIB + GPU_OVERHEAD_BYTES


def test_heads_over_several_gpus() -> None:
    """Heads are split evenly; with more GPUs than KV heads each of these is held several times."""
    one = need("qwen2.5-coder-7b")  # 28 heads, 4 KV heads
    assert [one.splits(tensor) for tensor in (1, 2, 3, 4, 8)] == [True, True, False, True, False]
    grouped = Need(20 * GIB, 1 << 20, 1024, heads=32, kv_heads=4)
    assert grouped.splits(8)
    contexts = [grouped.per_gpu(tensor) - 20 * GIB // tensor - GPU_OVERHEAD_BYTES for tensor in (4, 8)]
    assert contexts == [GIB // 4, GIB // 4]
    assert grouped.developers(23 * GIB, 8) == (8 * 20 - 20) // 2
    assert not Need(20 * GIB, 1 << 20, 1024).splits(2)  # nothing is known


def test_two_models() -> None:
    """Weights and KV caches of a model and of the one that drafts for it add up."""
    both = Need(20 * GIB, 1 << 20, 1024).beside(Need(2 * GIB, 1 << 10, 1024))
    assert both == Need(22 * GIB, (1 << 20) + (1 << 10), 1024)
    both = Need(1, 1, 1, heads=32, kv_heads=8).beside(Need(1, 1, 1, heads=6, kv_heads=2))
    assert (both.heads, both.kv_heads) == (32, 2)


def test_a_checkpoint_of_32_bits(tmp_path: Path) -> None:
    """It counts as it is loaded, with 16 bits, unless the preset computes with 32."""
    wide, narrow = tiny(tmp_path / "wide", tensors(torch.float32)), tiny(tmp_path / "narrow")
    assert weight_bytes(wide) == pytest.approx(weight_bytes(narrow), abs=2000)  # of headers
    assert weight_bytes(wide, float32=True) == pytest.approx(2 * weight_bytes(narrow), abs=4000)
    assert weight_bytes(narrow, float32=True) == weight_bytes(narrow)


def test_files_are_believed() -> None:
    """Weights that are here count by their size, unless they are made smaller while they are loaded."""
    found = need_of(PRESETS["codellama-7b"], weights=14 * GB)
    smaller = need_of(PRESETS["codellama-7b-fp8"], weights=14 * GB)
    assert found is not None
    assert smaller is not None
    assert (found.weights, smaller.weights < 8 * GB) == (14 * GB, True)


@pytest.mark.parametrize(
    ("quantization", "config", "bits"),
    [
        (None, None, 16),
        ("fp8", None, 8),
        ("gptq", None, 4.16),
        ("compressed-tensors", None, 8),
        (
            "compressed-tensors",
            {"quantization_config": {"config_groups": {"a": {"weights": {"num_bits": 4}}}}},
            4,
        ),
        ("int8_per_channel_weight_only", None, 16),
        (None, {"quantization_config": {"bits": 8}}, 8),
        (None, {"quantization_config": "odd"}, 16),
        (None, {"quantization_config": {"config_groups": {"a": {"weights": {"num_bits": 8}}}}}, 8),
        (None, {"quantization_config": {"config_groups": {"a": {"weights": None}, "b": 3}}}, 16),
    ],
)
def test_bits(quantization: str | None, config: dict[str, Any] | None, bits: float) -> None:
    """The preset's quantisation counts, then what a checkpoint says of itself; one that leaves these
    matrices as they are counts for nothing.
    """
    preset = Preset(name="x", model="x/y", fim="codellama-spm", quantization=quantization)
    assert weight_bits(preset, config) == bits


def test_unknown_sizes() -> None:
    """Without a shape and a usual config nothing is claimed."""
    preset = Preset(name="x", model="x/y", fim="codellama-spm")
    assert need_of(preset) is None
    assert need_of(preset, config={"hidden_size": 3}) is None
    assert need_of(preset, config=TINY) is not None
    assert need_of(preset, config=TINY | {"kv_lora_rank": 512}) is None


def test_every_preset_that_is_served_says_what_it_needs() -> None:
    """All presets for a GPU state their memory, but for those that are refused."""
    served = [preset for preset in PRESETS.values() if preset.device == "gpu" and not preset.refused]
    assert len(served) > 25
    assert all(need_of(preset) for preset in served)
