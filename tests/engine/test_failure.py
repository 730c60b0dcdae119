"""One line on why an engine does not run, out of what it printed."""

from __future__ import annotations

import pytest

from codeserve.engine.failure import explain_failure


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "Value error, Model architectures ['FooForCausalLM'] are not supported for now.",
            "does not support the architecture 'FooForCausalLM'",
        ),
        (
            "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata",
            "weights are damaged",
        ),
        ("ValueError: There is no module or parameter named 'x' in LlamaForCausalLM", "do not fit"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "GPU's memory is used up"),
        (
            "ValueError: Free memory on device cuda:0 (3.1/79 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 71 GiB).",
            "another program holds the GPU's memory",
        ),
        ("ValueError: No available memory for the cache blocks.", "no memory is left for the KV cache"),
        (
            "ValueError: To serve at least one request with the models's max seq len (4096), (2.0 GiB KV "
            "cache is needed, which is larger than the available KV cache memory (0.5 GiB).",
            "no memory is left for the KV cache",
        ),
        ("RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory", "machine's memory"),
        ("RuntimeError: No CUDA GPUs are available", "check the NVIDIA driver"),
        ("ValueError: Bfloat16 is only supported on GPUs with compute capability 8.0", "dtype = 'float16'"),
        ("torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler", "apt install g++"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
    ],
)
def test_known_causes(line: str, says: str) -> None:
    """A known cause is told with the way out, wherever it stands in the output."""
    lines = ["(EngineCore pid=1) INFO fine", line, "RuntimeError: Engine core initialization failed."]
    assert says in explain_failure(lines)


def test_unknown_cause() -> None:
    """Else the last exception is told, not what the process above says about it."""
    lines = [
        "ValueError: first",
        "(EngineCore pid=3) ERROR 11-30 06:17:32 [core.py:906] some.module.OddError: the real   reason",
        "  File 'x.py', line 3",
        "RuntimeError: Engine core initialization failed. See root cause above.",
    ]
    assert explain_failure(lines) == "OddError: the real reason"


def test_validation_error() -> None:
    """Of a refused configuration the reason is told, not how many there are."""
    lines = [
        "ValidationError: 1 validation error for ModelConfig",
        "  Value error, The quantization method foo is odd. [type=value_error, input_value=x]",
    ]
    assert explain_failure(lines) == "The quantization method foo is odd."


def test_long_messages_are_cut() -> None:
    """A line stays a line."""
    assert len(explain_failure(["ValueError: " + "x" * 5000])) <= 240


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (-9, "machine's memory was used up"),
        (-11, "ended by signal 11"),
        (3, "ended with code 3"),
        (None, "its process ended, and with which exit code could not be told"),
    ],
)
def test_silent_deaths(code: int | None, says: str) -> None:
    """Without a word the exit code is all there is."""
    assert says in explain_failure(["all is well"], code)


def test_exit_code_in_words() -> None:
    """vLLM tells the exit code of a process that died while it started."""
    lines = ["RuntimeError: Engine core initialization failed. Failed core proc(s): {'EngineCore': -9}"]
    assert "machine's memory was used up" in explain_failure(lines)
