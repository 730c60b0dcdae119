"""Does a preset fit the GPUs that are here, and what would in its place. Pure; sizes in bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import attrs

from codeserve.engine.finding import Check
from codeserve.engine.machine import Gpu
from codeserve.engine.memory import Need, gib, need_of
from codeserve.engine.preset import Preset

__all__ = ["check_cache", "check_gpu"]

# What CUDA takes for a program of its own before any of its memory: 527 MiB on an H200.
_CONTEXT_BYTES = 512 << 20

# The first compute capability with 8-bit floating point of its own: Ada, then Hopper.
_FP8_CAPABILITY = (8, 9)


def check_gpu(
    preset: Preset, need: Need | None, found: Sequence[Gpu], others: Mapping[str, Preset] | None = None
) -> Check:
    """Whether there are GPUs enough, with room for the weights and for one developer's context.

    ``need`` is None when the model's sizes are not known. ``others`` are presets to name one that would fit.
    """
    if len(found) < preset.gpus:
        here = "no NVIDIA GPU is" if not found else f"only {len(found)} of {preset.gpus} GPUs are"
        return Check(
            "gpu",
            "fail",
            f"{here} here for the preset {preset.name}: check nvidia-smi, or serve mini-codellama on the CPU",
        )
    cards = found[: preset.gpus]
    names = ", ".join(gpu.name for gpu in cards)
    weak = _without_fp8(cards)
    if weak is not None and preset.kv_cache_dtype.startswith("fp8"):
        return Check(
            "gpu",
            "fail",
            f"{preset.name} has its KV cache in fp8, which needs compute capability 8.9 (Ada, Hopper), "
            f"and {weak} is older: {_other(preset, found, others or {})}",
        )
    if need is None:
        return _taken(preset, None, cards) or Check("gpu", "ok", names)
    tensor, pipeline = preset.tensor_parallel, preset.pipeline_parallel
    parts = f"{gib(need.weights)} of weights, {gib(need.kv_per_developer)} of KV cache a developer"
    cache = preset.kv_cache_bytes
    if cache is not None and (short := check_cache(preset, need, cache, "gpu")) is not None:
        return short
    share = _share(preset, need)
    room = _room(preset, cards)
    if room is None:
        return Check(
            "gpu",
            "warn",
            f"{names}: nvidia-smi does not tell the memory, so see for yourself that {gib(share)} a GPU are "
            f"free ({parts}); where CPU and GPU share it, set kv_cache_bytes in the preset",
        )
    taken = _taken(preset, share, cards)
    if taken is not None and cache is not None:
        return taken  # what is free is all that counts then
    if share > room:
        return Check(
            "gpu",
            "fail",
            f"{gib(share)} a GPU needed ({parts}), {gib(room)} there ({names}): "
            + ("set kv_cache_bytes lower, or " if need.per_gpu(tensor, pipeline) <= room else "")
            + _way_out(preset, need, found, others or {}),
        )
    if taken is not None:
        return taken
    if cache is None:
        developers = need.developers(room, tensor, pipeline)
    else:
        developers = cache // need.context_share(tensor, pipeline)
    return Check("gpu", "ok", f"{names}: {parts}, room for {preset.data_parallel * developers} at a time")


def check_cache(preset: Preset, need: Need, cache: int, name: str) -> Check | None:
    """A KV cache of a fixed size, ``cache`` of each GPU or of the CPU, that holds less than one context."""
    share = need.context_share(preset.tensor_parallel, preset.pipeline_parallel)
    if share <= cache:
        return None
    return Check(
        name,
        "fail",
        f"{gib(cache)} of KV cache hold less than a context of {preset.context_tokens:,} tokens, which takes "
        f"{gib(share)}: set kv_cache_bytes in the preset to {share} or more, or context_tokens lower",
    )


def _share(preset: Preset, need: Need) -> int:
    """What each GPU must have: for a KV cache of a fixed size, or for one context."""
    tensor, pipeline = preset.tensor_parallel, preset.pipeline_parallel
    fixed = preset.kv_cache_bytes
    return need.per_gpu(tensor, pipeline) if fixed is None else need.per_gpu(tensor, pipeline, 0) + fixed


def _room(preset: Preset, cards: Sequence[Gpu]) -> int | None:
    """What the engine may take of each card, by the least of them; None where one does not tell its size.

    That is its share of all memory; with a KV cache of a fixed size what is free.
    """
    sizes = [(gpu.total, gpu.free) for gpu in cards if gpu.total is not None and gpu.free is not None]
    if not sizes or len(sizes) < len(cards):
        return None
    if preset.kv_cache_bytes is not None:
        return min(free for _, free in sizes)
    return int(min(total for total, _ in sizes) * preset.gpu_memory_utilization)


def _taken(preset: Preset, share: int | None, cards: Sequence[Gpu]) -> Check | None:
    """A card of which others hold so much that the engine does not start, however small the model.

    vLLM takes its share of all of a card's memory and refuses when that is not free, a fixed size of the KV
    cache or not (`request_memory`, vllm/v1/worker/utils.py). ``share`` is the model's need; None: unknown.
    """
    known = [(gpu.name, gpu.total, gpu.free) for gpu in cards if gpu.total and gpu.free is not None]
    if not known:
        return None
    name, total, free = min(known, key=lambda card: (card[2] - _CONTEXT_BYTES) / card[1])
    wanted, left = math.ceil(total * preset.gpu_memory_utilization), max(0, free - _CONTEXT_BYTES)
    if left >= wanted:
        return None
    held = max(0, total - free)  # each is rounded by nvidia-smi
    most = math.floor(100 * left / total) / 100
    room = free if preset.kv_cache_bytes is not None else total * most
    fits = most > 0 and (share is None or share <= room)
    lower = f", or set it to at most {most:.2f} in the preset" if fits else ""
    return Check(
        "gpu",
        "fail",
        f"{name} has {gib(left)} left beside CUDA itself and other programs, which hold {gib(held)}; "
        f"gpu_memory_utilization = {preset.gpu_memory_utilization:g} takes {gib(wanted)}: "
        f"end the other programs{lower}",
    )


def _way_out(preset: Preset, need: Need, found: Sequence[Gpu], others: Mapping[str, Preset]) -> str:
    """More GPUs where they are here, else a preset that fits."""
    tensor = _spread(preset, need, found)
    if tensor is not None:
        return f"set tensor_parallel = {tensor} in the preset"
    return _other(preset, found, others)


def _other(preset: Preset, found: Sequence[Gpu], others: Mapping[str, Preset]) -> str:
    """A preset that fits, with the same prompts and the largest, and none in fp8 for cards without."""
    fitting: list[tuple[bool, int, int, bool, str]] = []
    for other in others.values():
        if other.name == preset.name or other.device != "gpu" or other.refused:
            continue
        # vLLM has weights in fp8 computed in 16 bits on older cards: no preset to name.
        if "fp8" in f"{other.quantization} {other.kv_cache_dtype}" and _without_fp8(found) is not None:
            continue
        own = need_of(other)
        if own is not None and _fits(other, own, found):
            parameters = other.shape.linear_parameters if other.shape else 0
            made = other.weights == "quantize"
            fitting.append((other.fim == preset.fim, parameters, own.weights, made, other.name))
    if fitting:
        *_, made, name = max(fitting)
        how = " (its weights are made by `codeserve quantize`)" if made else ""
        return f"serve {name}, which fits{how}"
    return "serve mini-codellama on the CPU"


def _without_fp8(cards: Sequence[Gpu]) -> str | None:
    """The name of a card that is known to be too old for fp8, if one is."""
    return next((gpu.name for gpu in cards if gpu.capability and gpu.capability < _FP8_CAPABILITY), None)


def _fits(preset: Preset, need: Need, found: Sequence[Gpu]) -> bool:
    """Whether there are GPUs enough, each with room for its part."""
    room = _room(preset, found[: preset.gpus]) if preset.gpus <= len(found) else None
    return room is not None and _share(preset, need) <= room


def _spread(preset: Preset, need: Need, found: Sequence[Gpu]) -> int | None:
    """The least power of two so that the model, split over so many GPUs, fits those here; None: none."""
    for tensor in (1 << power for power in range(1, len(found).bit_length())):
        wider = attrs.evolve(preset, tensor_parallel=tensor)
        if tensor > preset.tensor_parallel and need.splits(tensor) and _fits(wider, need, found):
            return tensor
    return None
