"""Why an engine did not start or died, in one line, out of what it printed."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["explain_failure"]

# The first that is found anywhere in the output wins: from the specific to the general.
_CAUSES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), advice)
    for pattern, advice in (
        (
            r"Model architectures \[(?P<what>[^\]]*)\] (?:are not supported|failed to be inspected)",
            "this vLLM does not support the architecture {what}: use another model or another vLLM",
        ),
        (
            r"SafetensorError|safetensors_rust|incomplete metadata|InvalidHeaderDeserialization",
            "the weights are damaged: copy or download the model again",
        ),
        (
            r"There is no module or parameter named|weights were not initialized from checkpoint|"
            r"size mismatch for|shape mismatch|does not appear to have|"
            r"Attempted to load weight|loaded_weight\.shape",
            "the weights do not fit the model's config.json: copy or download the model again",
        ),
        (
            r"CUDA out of memory|torch\.OutOfMemoryError|hipErrorOutOfMemory",
            "the GPU's memory is used up: use a smaller or quantised model, or lower context_tokens",
        ),
        (
            r"Free memory on device .* is less than desired GPU memory utilization",
            "another program holds the GPU's memory: end it, or lower gpu_memory_utilization",
        ),
        (
            r"No available memory for the cache blocks|larger than the available KV cache memory|"
            r"KV cache is needed, which is larger",
            "no memory is left for the KV cache: raise gpu_memory_utilization or kv_cache_bytes, "
            "or lower context_tokens",
        ),
        (
            r"DefaultCPUAllocator: can't allocate|Cannot allocate memory|\bMemoryError\b|std::bad_alloc",
            "the machine's memory is used up: use a smaller model or lower kv_cache_bytes",
        ),
        (
            r"No CUDA GPUs are available|Found no NVIDIA driver|CUDA driver version is insufficient|"
            r"NVIDIA driver on your system is too old",
            "the GPU cannot be used: check the NVIDIA driver with nvidia-smi",
        ),
        (
            r"(?:bfloat16|bf16).{0,40}(?:only supported|not supported)|Bfloat16 is only supported",
            "this GPU has no bfloat16: set dtype = 'float16' in the preset",
        ),
        (
            r"InvalidCxxCompiler|No working C\+\+ compiler|C\+\+ compiler.{0,40}not found",
            "no C++ compiler is installed, which the CPU's kernels are built with: apt install g++",
        ),
        (r"No space left on device", "the disk is full: make room and start again"),
    )
)

_PREFIX = re.compile(r"^\([^)]*pid=\d+\)\s*(?:[A-Z]+ [\d-]+ [\d:]+ \[[^\]]*\]\s?)?")
_ERROR = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?(?P<name>[A-Z]\w*(?:Error|Exception))\b:?\s*(?P<text>.*)")
# What the server's process says about its child tells nothing.
_EMPTY = "Engine core initialization failed"
# A configuration that vLLM refuses, in pydantic's words; and the exit code of a process that died in a start.
_REFUSED = re.compile(r"Value error, (?P<text>.+?)(?: \[type=|$)", re.MULTILINE)
_EXIT = re.compile(r"Failed core proc\(s\): \{'[^']*': (-?\d+)")
_LONGEST = 240  # characters of a message that nobody foresaw


def explain_failure(lines: Sequence[str], exit_code: int | None = None) -> str:
    """One line on the cause and the way out.

    ``lines`` is the tail of what the engine printed; ``exit_code`` of its process, negative for a signal.
    """
    text = "\n".join(lines)
    for pattern, advice in _CAUSES:
        if found := pattern.search(text):
            return advice.format(**found.groupdict())
    if exit_code is None and (found := _EXIT.search(text)):
        exit_code = int(found[1])
    if found := _REFUSED.search(text):
        return " ".join(found["text"].split())[:_LONGEST]
    if exit_code == -9:
        return "it was killed, most likely because the machine's memory was used up: use a smaller model"
    if exit_code is not None and exit_code < 0:
        return f"its process was ended by signal {-exit_code}"
    last = ""
    for line in lines:
        found = _ERROR.match(_PREFIX.sub("", line).strip())
        if found and _EMPTY not in line:
            last = f"{found['name']}: {found['text']}".rstrip(": ")
    if last:
        return " ".join(last.split())[:_LONGEST]
    if exit_code is None:
        return "its process ended, and with which exit code could not be told"
    return f"its process ended with code {exit_code}"
