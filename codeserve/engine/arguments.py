"""The engine's arguments out of a preset: pure, so that a test can read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codeserve.engine.preset import Preset, Speculation

__all__ = ["CPU_BLOCK_TOKENS", "CPU_KV_CACHE_BYTES", "engine_arguments"]

# The CPU's kernels want multiples of 32; its default of 128 would recompute up to 127 tokens a keystroke.
CPU_BLOCK_TOKENS = 32
CPU_KV_CACHE_BYTES = 512 << 20

_CPU_SEQUENCES = 16  # more only slow each other down on a handful of cores
_GPU_SEQUENCES = 256
_GPU_BATCH_TOKENS = 8192  # two whole contexts a step: prefill is not what a GPU waits for


def engine_arguments(
    preset: Preset, model: Path | str, device: str, *, compiled: bool = True
) -> dict[str, Any]:
    """Keyword arguments of vLLM's AsyncEngineArgs; the preset's ``engine_args`` win.

    ``device`` is "cpu" or "gpu". ``compiled`` is False on a CPU without a compiler for its kernels.
    """
    cpu = device == "cpu"
    arguments: dict[str, Any] = {
        "model": str(model),
        # Prompts go in and come out as token ids.
        "skip_tokenizer_init": True,
        # Sampling is what a request says, not what a file beside the weights says.
        "generation_config": "vllm",
        "dtype": preset.dtype,
        "quantization": preset.quantization,
        "kv_cache_dtype": preset.kv_cache_dtype,
        "load_format": "dummy" if preset.load_format == "dummy" else None,
        "max_model_len": preset.context_tokens,
        "enable_prefix_caching": True,
        "enable_chunked_prefill": True,
        # Lower priorities run first: the line being typed before a prewarm.
        "scheduling_policy": "priority",
        "max_num_seqs": preset.max_sequences or (_CPU_SEQUENCES if cpu else _GPU_SEQUENCES),
        # At least a whole prompt in one step: smaller chunks make a cold prompt slower, and nobody faster.
        "max_num_batched_tokens": preset.batch_tokens
        or max(0 if cpu else _GPU_BATCH_TOKENS, preset.context_tokens),
        "block_size": preset.block_size or (CPU_BLOCK_TOKENS if cpu else None),
        "tensor_parallel_size": preset.tensor_parallel,
        "pipeline_parallel_size": preset.pipeline_parallel,
        "data_parallel_size": preset.data_parallel,
        # vLLM's own loggers stay off; `codeserve.engine.launch` asks for the figures by a logger of its own.
        "disable_log_stats": True,
        "enable_log_requests": False,
    }
    if cpu:
        arguments["distributed_executor_backend"] = "uni" if _one_worker(preset) else "mp"
        arguments["kv_cache_memory_bytes"] = preset.kv_cache_bytes or CPU_KV_CACHE_BYTES
        arguments["enforce_eager"] = None if compiled else True
    else:
        arguments["gpu_memory_utilization"] = preset.gpu_memory_utilization
        arguments["kv_cache_memory_bytes"] = preset.kv_cache_bytes
        arguments["kv_offloading_size"] = preset.kv_offload_gib
    if preset.speculation is not None:
        arguments["speculative_config"] = _speculative_config(preset.speculation, arguments["max_num_seqs"])
        arguments["per_request_spec_decode_metrics"] = "summary"
    return {name: value for name, value in arguments.items() if value is not None} | preset.engine_args


def _speculative_config(speculation: Speculation, max_sequences: int) -> dict[str, Any]:
    """vLLM's SpeculativeConfig fields (vllm/config/speculative.py)."""
    tokens = speculation.num_speculative_tokens
    config: dict[str, Any] = {"method": speculation.method, "num_speculative_tokens": tokens}
    if speculation.method == "ngram":
        config["prompt_lookup_max"] = speculation.prompt_lookup_max
        config["prompt_lookup_min"] = speculation.prompt_lookup_min
    if speculation.model is not None:
        config["model"] = str(speculation.model)
    if speculation.varies:
        # By batch size; `codeserve.engine.drafting` changes it while it runs.
        most = min(speculation.max_batch or max_sequences, max_sequences)
        ranges = [[1, most, tokens], [most + 1, max_sequences, 0]]
        config["num_speculative_tokens_per_batch_size"] = [one for one in ranges if one[0] <= one[1]]
    if speculation.pretended_length is not None:
        config["rejection_sample_method"] = "synthetic"
        config["synthetic_acceptance_length"] = speculation.pretended_length
    return config


def _one_worker(preset: Preset) -> bool:
    return preset.gpus == 1
