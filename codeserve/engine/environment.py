"""The environment that the engine's processes start in.

On the CPU two preloaded libraries decide the speed of a token (two cores, the bundled model: 5.8 ms with
both, 8.7 ms with Intel's OpenMP alone, 11.2 ms with neither), and a preload has to stand in the environment
before a process begins: it is set here, so that nobody has to.
"""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import attrs

from codeserve.engine.threads import ThreadPlan

__all__ = ["Preload", "applied", "cache_folder", "engine_environment", "find_preload"]

_LIBRARY_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64")
_TCMALLOC = ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4")
_OPENMP = ("libiomp5.so",)


@attrs.frozen
class Preload:
    """Libraries to load before everything else; None where one is not installed."""

    tcmalloc: Path | None
    openmp: Path | None

    def joined(self, before: str = "") -> str:
        """As LD_PRELOAD takes it, after what stands there already."""
        own = [str(path) for path in (self.tcmalloc, self.openmp) if path is not None]
        return ":".join([*filter(None, before.split(":")), *own])


def _first(names: Iterable[str], folders: Iterable[Path]) -> Path | None:
    folders = list(folders)
    for name in names:
        for folder in folders:
            if (folder / name).is_file():
                return folder / name
    return None


def _vllm_libraries() -> list[Path]:
    spec = importlib.util.find_spec("vllm")
    return [Path(folder) / "libs" for folder in (spec.submodule_search_locations or [])] if spec else []


def find_preload(folders: Iterable[Path] | None = None) -> Preload:
    """Look for tcmalloc and Intel's OpenMP: in ``folders``, or this environment, vLLM's and the system's."""
    if folders is None:
        machine = os.uname().machine
        system = [Path(folder) for folder in _LIBRARY_FOLDERS]
        multiarch = [folder / f"{machine}-linux-gnu" for folder in system]
        folders = [Path(sys.prefix) / "lib", *_vllm_libraries(), *multiarch, *system]
    folders = list(folders)
    tcmalloc = _first(_TCMALLOC, folders)
    if tcmalloc is None and (known := ctypes.util.find_library("tcmalloc_minimal")):
        # The loader knows it by name from a folder of its own configuration; the name alone is enough then.
        tcmalloc = Path(known)
    return Preload(tcmalloc, _first(_OPENMP, folders))


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where compiled kernels are kept from one start to the next."""
    base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "codeserve"


def engine_environment(
    *,
    device: str,
    threads: ThreadPlan,
    preload: Preload,
    offline: bool,
    cache: Path,
    environ: Mapping[str, str],
) -> dict[str, str]:
    """Variables for the engine's processes; what the user has set in ``environ`` stays.

    ``device`` is "cpu" or "gpu"; ``offline`` when the model is a folder, so that nothing is asked outside.
    """
    wanted = {
        # Nothing is reported anywhere.
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_DO_NOT_TRACK": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        # A fork of a process with an event loop and threads may lock up for ever.
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        # Its messages go where `codeserve.engine.output` and `codeserve.engine.child` send them.
        "VLLM_CONFIGURE_LOGGING": "0",
        "VLLM_LOGGING_LEVEL": "INFO",
        "VLLM_LOGGING_COLOR": "0",
        "TOKENIZERS_PARALLELISM": "false",
        # Its processes begin as `python -c` and `python -m`, which would import what lies in the working
        # directory in place of Python's own library.
        "PYTHONSAFEPATH": "1",
    }
    if offline:
        wanted |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    if device == "cpu":
        wanted |= {
            # With the executor "uni" this keeps the worker in the engine's process: one process less, and
            # half a gigabyte.
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_CPU_OMP_THREADS_BIND": threads.binding,
            # The ahead-of-time artifact of the CPU build fails to load and is compiled again at every start
            # ("finalize_loading"); the kernel cache below it loads.
            "VLLM_USE_AOT_COMPILE": "0",
            "TORCHINDUCTOR_CACHE_DIR": str(cache / "kernels"),
        }
        if preload.openmp is not None:
            # vLLM sets these for workers in processes of their own only (vllm/utils/ompmultiprocessing.py):
            # compute threads stay on their CPUs, and wait awake for as long as a step's Python takes.
            wanted |= {
                "KMP_AFFINITY": f"granularity=fine,explicit,proclist=[{','.join(map(str, threads.cpus))}]",
                "KMP_BLOCKTIME": "5",  # milliseconds
                "KMP_TPAUSE": "0",
            }
    result = {name: value for name, value in wanted.items() if name not in environ}
    if device == "cpu" and (joined := preload.joined(environ.get("LD_PRELOAD", ""))):
        result["LD_PRELOAD"] = joined
    return result


@contextmanager
def applied(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process for the duration, for the processes that it starts meanwhile.

    All else that changed in the environment in between is taken back too: the engine's library writes there.
    """
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)
