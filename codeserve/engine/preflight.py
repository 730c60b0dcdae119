"""What can be known before minutes of loading: is it installed, whole, and does it fit. Imports no engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from codeserve.engine import compat
from codeserve.engine.arguments import CPU_KV_CACHE_BYTES
from codeserve.engine.compiler import missing_for_compiling
from codeserve.engine.draft_model import check_draft, draft_need
from codeserve.engine.environment import Preload, find_preload
from codeserve.engine.finding import Check
from codeserve.engine.folder import check_folder, read_config, weight_bytes
from codeserve.engine.gpu_check import check_cache, check_gpu
from codeserve.engine.hub import cached_folder
from codeserve.engine.machine import affinity, available_memory, cpu_quota, gpus
from codeserve.engine.memory import Need, gib, need_of
from codeserve.engine.preset import Preset
from codeserve.engine.presets import load_presets
from codeserve.engine.threads import plan_threads
from codeserve.errors import ConfigError

__all__ = [
    "check_compiler",
    "check_memory",
    "check_preload",
    "check_speculation",
    "check_torch",
    "checks",
    "require",
]

# What the server's and the engine's process hold beside weights and KV cache on the CPU: 2.3 GiB in all were
# measured with a bundled model (78 MB of weights in bf16, 512 MiB of KV cache of which a part was touched).
_CPU_OVERHEAD_BYTES = 2 << 30

_BREAK_IMPORT = ("torchvision", "torchaudio", "torchcodec")


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def check_torch(version_of: Callable[[str], str | None] = _installed) -> Check:
    """torch's build, and the packages that break vLLM's import beside its CPU build."""
    torch = version_of("torch")
    if torch is None:
        return Check("torch", "fail", "torch is not installed: run `make run` in a checkout of codeserve")
    if torch.endswith("+cpu"):
        there = [name for name in _BREAK_IMPORT if (found := version_of(name)) and not found.endswith("+cpu")]
        if there:
            return Check(
                "torch",
                "fail",
                f"{', '.join(there)} of another build beside torch {torch} breaks vLLM's import: "
                f"pip uninstall {' '.join(there)}",
            )
    return Check("torch", "ok", f"torch {torch}")


def check_compiler(missing: Sequence[str]) -> Check:
    """``missing`` is what `missing_for_compiling` found."""
    if missing:
        return Check(
            "compiler",
            "warn",
            f"{' and '.join(missing)} not found: kernels are not compiled and tokens take about twice as "
            "long; on Debian or Ubuntu: sudo apt install g++ python3-dev",
        )
    return Check("compiler", "ok", "kernels are compiled at start")


def check_preload(preload: Preload) -> Check:
    """The libraries that make a token on the CPU nearly twice as fast."""
    missing = [
        name
        for name, path in (("tcmalloc", preload.tcmalloc), ("Intel's OpenMP", preload.openmp))
        if path is None
    ]
    if missing:
        return Check(
            "preload",
            "warn",
            f"{' and '.join(missing)} not found, tokens are slower: install libtcmalloc-minimal4 by your "
            "system's packages and intel-openmp by pip",
        )
    return Check("preload", "ok", "tcmalloc and Intel's OpenMP are loaded into the engine")


def check_speculation(preset: Preset) -> Check | None:
    """Speculation that will not pause as it is told to; None where there is nothing to say.

    vLLM drops the schedule by batch size for several replicas, which would come to differ in it
    (`_maybe_disable_dynamic_sd_for_data_parallel`, vllm/config/vllm.py).
    """
    if preset.speculation is None or not preset.speculation.varies or preset.data_parallel == 1:
        return None
    return Check(
        "speculation",
        "warn",
        f"with data_parallel = {preset.data_parallel} vLLM drafts at every step, max_batch and min_accepted "
        'or not: set speculation = "off" where that costs more than it brings',
    )


def check_memory(preset: Preset, weights: int, available: int, need: Need | None = None) -> Check:
    """Whether weights and KV cache fit into the machine's memory, and a context into the cache; in bytes.

    ``need`` is None when the model's sizes are not known.
    """
    cache = preset.kv_cache_bytes or CPU_KV_CACHE_BYTES
    if need is not None and (short := check_cache(preset, need, cache, "memory")) is not None:
        return short
    needed = weights + cache + _CPU_OVERHEAD_BYTES
    parts = f"{gib(weights)} of weights, {gib(cache)} of KV cache"
    text = f"{gib(needed)} needed ({parts}), {gib(available)} free"
    if needed > available:
        return Check("memory", "fail", f"{text}: end other programs, or serve a smaller model")
    return Check("memory", "ok", text)


def _look(
    preset: Preset, name: str, model: Path | str, check: Callable[[Path], None]
) -> tuple[Check, dict[str, Any] | None, int | None]:
    """A finding on a model by ``check``; its config.json and its weights' bytes where it has them here."""
    folder = model if isinstance(model, Path) else cached_folder(model)
    if folder is None:
        return Check(name, "warn", f"{model} is not on this machine: it is fetched at start"), None, None
    try:
        check(folder)
        config = read_config(folder)
        weights = None if preset.load_format == "dummy" else weight_bytes(folder, float32=preset.float32)
    except ConfigError as error:
        if isinstance(model, Path):
            return Check(name, "fail", str(error)), None, None
        begun = f"{model} is not whole on this machine: what is missing is fetched at start"
        return Check(name, "warn", begun), None, None
    size = "made-up weights" if weights is None else f"{gib(weights)} of weights"
    return Check(name, "ok", f"{model.name if isinstance(model, Path) else model}: {size}"), config, weights


def checks(preset: Preset, model: Path | str) -> list[Check]:
    """All findings for a preset and its model: a folder, or the id of one that is not here yet."""
    try:
        engine = compat.check_version(compat.installed())
    except ConfigError as error:
        return [Check("engine", "fail", str(error))]
    device = engine.device if preset.device == "auto" else preset.device
    found = [Check("engine", "ok", f"{engine.distribution} {engine.version}"), check_torch()]
    if device != engine.device:
        found.append(
            Check(
                "engine",
                "fail",
                f"the preset {preset.name} is for a {device.upper()} and {engine.distribution} "
                f"{engine.version} runs on a {engine.device.upper()}: install the other engine "
                f"(see {'GPU and CodeLlama' if device == 'gpu' else 'Start'} in the README), or choose "
                "another preset (`codeserve models`)",
            )
        )
        return found
    made_up = preset.load_format == "dummy"
    check, config, weights = _look(preset, "model", model, lambda at: check_folder(at, weights=not made_up))
    found.append(check)
    draft_config, draft_weights = None, None
    if (drafting := preset.speculation) is not None and drafting.model is not None:
        check, draft_config, draft_weights = _look(
            preset, "draft model", drafting.model, lambda at: check_draft(drafting, at, weights=not made_up)
        )
        found.append(check)
    if (speculation := check_speculation(preset)) is not None:
        found.append(speculation)
    need = need_of(preset, config=config, weights=weights)
    draft = draft_need(preset, draft_config, draft_weights) if draft_config is not None else None
    if need is not None and draft is not None:
        need = need.beside(draft)
    if device == "gpu":
        found.append(check_gpu(preset, need, gpus(), load_presets()))
        return found
    if weights is not None:
        found.append(check_memory(preset, weights + (draft_weights or 0), available_memory(), need))
    found.append(check_preload(find_preload()))
    found.append(check_compiler(missing_for_compiling()))
    binding = plan_threads(affinity(), cpu_quota()).binding
    found.append(Check("threads", "ok", f"the engine computes on CPU {binding}"))
    return found


def require(found: Sequence[Check]) -> None:
    """Raises: ConfigError with the first finding that keeps the engine from starting, if there is one."""
    for check in found:
        if check.status == "fail":
            raise ConfigError(check.message)
