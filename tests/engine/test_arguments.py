"""The engine's arguments out of a preset."""

from __future__ import annotations

from typing import Any

from codeserve.engine.arguments import engine_arguments
from codeserve.engine.presets import Preset, Speculation


def arguments(device: str = "cpu", compiled: bool = True, **fields: Any) -> dict[str, Any]:
    preset = Preset(**{"name": "test", "model": "a/b", "fim": "codellama-spm", **fields})
    return engine_arguments(preset, preset.model, device, compiled=compiled)


def test_cpu() -> None:
    """On the CPU: no worker process, a fixed cache, small blocks, whole prompts a step."""
    found = arguments()
    assert found["distributed_executor_backend"] == "uni"
    assert found["kv_cache_memory_bytes"] == 512 << 20
    assert found["block_size"] == 32
    assert found["max_num_batched_tokens"] == found["max_model_len"] == 4096
    assert "gpu_memory_utilization" not in found
    assert "enforce_eager" not in found


def test_gpu() -> None:
    """On a GPU: a share of its memory, the engine's own block size and executor."""
    found = arguments("gpu", gpu_memory_utilization=0.8, tensor_parallel=2)
    assert found["gpu_memory_utilization"] == 0.8
    assert found["tensor_parallel_size"] == 2
    assert found["max_num_batched_tokens"] == 8192
    assert not {"block_size", "distributed_executor_backend", "kv_cache_memory_bytes"} & set(found)


def test_always() -> None:
    """Token ids in and out, prefix cache, priorities, no logs of requests, no sampling defaults."""
    for device in ("cpu", "gpu"):
        found = arguments(device)
        assert found["skip_tokenizer_init"]
        assert found["enable_prefix_caching"]
        assert found["enable_chunked_prefill"]
        assert found["scheduling_policy"] == "priority"
        assert found["enable_log_requests"] is False
        assert found["generation_config"] == "vllm"


def test_several_workers_on_the_cpu() -> None:
    """Parallel workers on the CPU need processes."""
    assert arguments(tensor_parallel=2)["distributed_executor_backend"] == "mp"


def test_no_compiler() -> None:
    """Without a compiler the kernels run uncompiled."""
    assert arguments(compiled=False)["enforce_eager"] is True


def test_speculation() -> None:
    """N-gram speculation becomes vLLM's configuration, with counts by request."""
    found = arguments(speculation=Speculation(method="ngram", num_speculative_tokens=3))
    assert found["speculative_config"] == {
        "method": "ngram",
        "num_speculative_tokens": 3,
        "prompt_lookup_max": 4,
        "prompt_lookup_min": 2,
    }
    assert found["per_request_spec_decode_metrics"] == "summary"
    assert "speculative_config" not in arguments()


def test_preset_wins() -> None:
    """What a preset says about the engine itself overrides what would be chosen."""
    found = arguments(engine_args={"enforce_eager": True, "max_num_seqs": 2}, max_sequences=8)
    assert (found["enforce_eager"], found["max_num_seqs"]) == (True, 2)
    assert arguments(max_sequences=8)["max_num_seqs"] == 8
