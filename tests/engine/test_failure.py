"""Failures of an engine, in one line."""

from __future__ import annotations

import pytest

from codeserve.engine.failure import explain_failure


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "ValueError: Model architectures ['FooForCausalLM'] are not supported for now.",
            "does not support the architecture 'FooForCausalLM'",
        ),
        ("ValueError: Model architectures ['Foo'] failed to be inspected.", "the architecture 'Foo'"),
        ("safetensors_rust.SafetensorError: Error while deserializing header", "weights are damaged"),
        ("ValueError: There is no module or parameter named 'x' in Llama", "do not fit the model's config"),
        ("AssertionError: Attempted to load weight (torch.Size([2])) into", "do not fit the model's config"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", "GPU's memory is used up"),
        (
            "ValueError: Free memory on device cuda:0 (1/80 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 72 GiB)",
            "another program holds the GPU's memory",
        ),
        ("ValueError: No available memory for the cache blocks.", "no memory is left for the KV cache"),
        ("ValueError: 2.0 GiB KV cache is needed, which is larger than", "raise gpu_memory_utilization"),
        ("RuntimeError: DefaultCPUAllocator: can't allocate memory", "machine's memory is used up"),
        ("OSError: [Errno 12] Cannot allocate memory", "machine's memory is used up"),
        ("MemoryError", "machine's memory is used up"),
        ("RuntimeError: No CUDA GPUs are available", "check the NVIDIA driver"),
        ("ValueError: Bfloat16 is only supported on GPUs with compute capability", "dtype = 'float16'"),
        ("InvalidCxxCompiler: No working C++ compiler found", "apt install g++"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
    ],
)
def test_known_causes(line: str, expected: str) -> None:
    """A cause that is known is told with the way out, wherever it stands and however the process ended."""
    noise = ["Traceback (most recent call last):", "KeyError: 'other'"]
    for lines in ([line], [*noise, line], [line, *noise]):
        for code in (None, 1, -9):
            answer = explain_failure(lines, code)
            assert expected in answer
            assert "\n" not in answer


def test_specific_cause_wins() -> None:
    """Of two causes the one that leads to the other is told, in either order."""
    lines = ["RuntimeError: CUDA out of memory", "ValueError: Model architectures ['Foo'] are not supported"]
    assert explain_failure(lines) == explain_failure(lines[::-1])
    assert "architecture 'Foo'" in explain_failure(lines)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (None, "its process ended"),
        (1, "its process ended with code 1"),
        (0, "its process ended with code 0"),
        (-11, "its process was ended by signal 11"),
        (-15, "its process was ended by signal 15"),
    ],
)
def test_nothing_printed(code: int | None, expected: str) -> None:
    """Without a word of the engine's the end of its process is all there is to tell."""
    assert explain_failure([], code) == expected
    assert explain_failure(["INFO all is well", ""], code) == expected


def test_killed() -> None:
    """A process killed without a word was most likely killed for its memory, whatever errors it had met."""
    assert "memory was used up" in explain_failure([], -9)
    assert "memory was used up" in explain_failure(["ValueError: something else"], -9)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ValueError: some reason", "ValueError: some reason"),
        ("a.b.CustomError: some reason", "CustomError: some reason"),
        ("KeyError", "KeyError"),
        ("AssertionError: ", "AssertionError"),
        ("(EngineCore pid=12) ValueError: reason", "ValueError: reason"),
        ("(EngineCore pid=12) ERROR 07-01 10:11:12 [core.py:9] ValueError: reason", "ValueError: reason"),
        ("  RuntimeError: two   blanks", "RuntimeError: two blanks"),
    ],
)
def test_unknown_error(line: str, expected: str) -> None:
    """An error that nobody foresaw is told as it is, without the prefixes of the engine's log."""
    assert explain_failure(["Traceback (most recent call last):", line, '  File "x.py"'], 1) == expected


def test_last_error_wins() -> None:
    """Of several errors the last is told, but not what the server's process says about its child."""
    lines = [
        "ValueError: first",
        "TypeError: second",
        "RuntimeError: Engine core initialization failed. See root cause above.",
    ]
    assert explain_failure(lines) == "TypeError: second"


def test_error_within_a_line_is_none() -> None:
    """An error's name in the middle of a line is talk."""
    assert explain_failure(["we ignore ValueError: x"], 3) == "its process ended with code 3"


def test_long_error_is_cut() -> None:
    """A message without end is cut."""
    answer = explain_failure(["ValueError: " + "x" * 5000])
    assert answer.startswith("ValueError: xxx")
    assert len(answer) == 240
