"""The engine's arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codeserve.engine.arguments import CPU_BLOCK_TOKENS, CPU_KV_CACHE_BYTES, engine_arguments
from codeserve.engine.presets import Preset, Speculation


def arguments(device: str = "cpu", *, compiled: bool = True, **fields: Any) -> dict[str, Any]:
    preset = Preset(name="some", model="org/model", fim="codellama-spm", **fields)
    return engine_arguments(preset, Path("/models/m"), device, compiled=compiled)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_what_always_holds(device: str) -> None:
    """Prompts are token ids, blocks are reused, priorities count and nothing is logged of a request."""
    found = arguments(device, context_tokens=2048)
    assert found["model"] == "/models/m"
    assert found["max_model_len"] == 2048
    assert found["skip_tokenizer_init"] is True
    assert found["enable_prefix_caching"] is True
    assert found["scheduling_policy"] == "priority"
    assert found["generation_config"] == "vllm"
    assert found["enable_log_requests"] is False


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_no_argument_is_none(device: str) -> None:
    """What a preset leaves open is left to the engine."""
    found = arguments(device)
    assert None not in found.values()
    assert "quantization" not in found


def test_cpu() -> None:
    """On a CPU one worker runs in the engine's process, with a cache of a fixed size in small blocks."""
    found = arguments()
    assert found["distributed_executor_backend"] == "uni"
    assert found["kv_cache_memory_bytes"] == CPU_KV_CACHE_BYTES
    assert found["block_size"] == CPU_BLOCK_TOKENS
    assert "gpu_memory_utilization" not in found
    assert "enforce_eager" not in found


def test_cpu_without_compiler() -> None:
    """Without a compiler a CPU runs without compiled kernels; a GPU does not care."""
    assert arguments(compiled=False)["enforce_eager"] is True
    assert "enforce_eager" not in arguments("gpu", compiled=False)


@pytest.mark.parametrize("kind", ["tensor_parallel", "pipeline_parallel", "data_parallel"])
def test_several_workers(kind: str) -> None:
    """Several workers are processes of their own, however they share the work."""
    several: dict[str, Any] = {kind: 2}
    found = arguments(**several)
    assert found["distributed_executor_backend"] == "mp"
    assert found[f"{kind}_size"] == 2


def test_gpu() -> None:
    """On a GPU a share of its memory is taken, and the engine chooses its blocks and executor."""
    found = arguments("gpu", gpu_memory_utilization=0.5)
    assert found["gpu_memory_utilization"] == 0.5
    assert not {"kv_cache_memory_bytes", "block_size", "distributed_executor_backend"} & set(found)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_presets_choices(device: str) -> None:
    """What a preset chooses reaches the engine on either device."""
    found = arguments(
        device,
        dtype="float16",
        quantization="awq",
        kv_cache_dtype="fp8",
        kv_cache_bytes=1 << 20,
        block_size=64,
        max_sequences=3,
    )
    assert (found["dtype"], found["quantization"], found["kv_cache_dtype"]) == ("float16", "awq", "fp8")
    assert (found["kv_cache_memory_bytes"], found["block_size"], found["max_num_seqs"]) == (1 << 20, 64, 3)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("context", [256, 4096, 16384])
def test_a_prompt_fits_one_step(device: str, context: int) -> None:
    """The longest prompt is worked on in one step."""
    assert arguments(device, context_tokens=context)["max_num_batched_tokens"] >= context


def test_speculation() -> None:
    """Speculation is set up as the preset says, and counted for each request."""
    wanted = Speculation(method="ngram", num_speculative_tokens=5, prompt_lookup_max=6, prompt_lookup_min=3)
    found = arguments(max_output_tokens=64, speculation=wanted)
    assert found["speculative_config"] == {
        "method": "ngram",
        "num_speculative_tokens": 5,
        "prompt_lookup_max": 6,
        "prompt_lookup_min": 3,
    }
    assert found["per_request_spec_decode_metrics"] == "summary"


def test_no_speculation() -> None:
    """Without speculation nothing is said of it."""
    assert not {"speculative_config", "per_request_spec_decode_metrics"} & set(arguments())


def test_engine_args_win() -> None:
    """The preset's own engine arguments come last, a None included."""
    found = arguments(engine_args={"max_num_seqs": 7, "seed": 3, "dtype": None})
    assert (found["max_num_seqs"], found["seed"], found["dtype"]) == (7, 3, None)


@pytest.mark.parametrize(
    ("speculation", "config"),
    [
        (Speculation(method="suffix"), {"method": "suffix"}),
        (Speculation(method="draft_model", model=Path("/d")), {"method": "draft_model", "model": "/d"}),
        (Speculation(method="eagle", model="org/e"), {"method": "eagle", "model": "org/e"}),
        (
            Speculation(method="eagle", model="org/e", max_batch=8),
            {
                "method": "eagle",
                "model": "org/e",
                "num_speculative_tokens_per_batch_size": [[1, 8, 4], [9, 16, 0]],
            },
        ),
        (
            Speculation(method="eagle", model="org/e", max_batch=99),
            {
                "method": "eagle",
                "model": "org/e",
                "num_speculative_tokens_per_batch_size": [[1, 16, 4]],
            },
        ),
        (
            Speculation(method="eagle", model="org/e", min_accepted=0.3),
            {
                "method": "eagle",
                "model": "org/e",
                "num_speculative_tokens_per_batch_size": [[1, 16, 4]],
            },
        ),
        (
            Speculation(method="suffix", pretended_length=2),
            {
                "method": "suffix",
                "rejection_sample_method": "synthetic",
                "synthetic_acceptance_length": 2,
            },
        ),
    ],
)
def test_methods_of_speculation(speculation: Speculation, config: dict[str, Any]) -> None:
    """Each method comes with what it needs, and with a schedule by batch size where it may be turned off."""
    found = arguments(speculation=speculation)["speculative_config"]
    assert found == config | {"num_speculative_tokens": 4}


@pytest.mark.parametrize("limit", [{"max_batch": 8}, {"min_accepted": 0.3}])
def test_suffix_does_not_pause(limit: dict[str, Any]) -> None:
    """Limits that would turn suffix decoding off for a step, which ends the engine, are refused."""
    with pytest.raises(ValueError, match="leave max_batch and min_accepted out"):
        Speculation(method="suffix", **limit)


def test_gpu_levers() -> None:
    """Tokens a step, KV blocks in the machine's memory and made-up weights reach the engine."""
    found = arguments("gpu", batch_tokens=2048, kv_offload_gib=8.0, load_format="dummy")
    assert (found["max_num_batched_tokens"], found["kv_offloading_size"]) == (2048, 8.0)
    assert found["load_format"] == "dummy"
    assert "load_format" not in arguments("gpu")
