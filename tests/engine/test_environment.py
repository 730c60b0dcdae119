"""The environment of the engine's processes."""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from codeserve.engine.environment import Preload, applied, cache_folder, engine_environment, find_preload
from codeserve.engine.threads import ThreadPlan

NOTHING = Preload(None, None)
BOTH = Preload(Path("/l/tc.so"), Path("/l/omp.so"))


def environment(
    environ: Mapping[str, str] | None = None,
    *,
    device: str = "cpu",
    preload: Preload = NOTHING,
    offline: bool = True,
) -> dict[str, str]:
    return engine_environment(
        device=device,
        threads=ThreadPlan((0, 1, 4)),
        preload=preload,
        offline=offline,
        cache=Path("/cache"),
        environ=environ or {},
    )


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_nothing_is_reported(device: str) -> None:
    """Usage reports of the libraries are off."""
    found = environment(device=device)
    for name in ("VLLM_NO_USAGE_STATS", "VLLM_DO_NOT_TRACK", "DO_NOT_TRACK", "HF_HUB_DISABLE_TELEMETRY"):
        assert found[name] == "1"


def test_processes_are_spawned() -> None:
    """No process is forked off the server with its threads."""
    assert environment()["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"


def test_nothing_is_imported_from_the_working_directory(tmp_path: Path) -> None:
    """A file there that is named like a module of Python's library does not take that one's place."""
    (tmp_path / "random.py").write_text("raise SystemExit(3)")
    command = [sys.executable, "-c", "import random"]
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    assert subprocess.run(command, cwd=tmp_path, env=inherited).returncode == 3
    assert subprocess.run(command, cwd=tmp_path, env=inherited | environment(device="gpu")).returncode == 0


def test_offline() -> None:
    """With a folder as the model nothing is asked outside; with an id it may be."""
    names = {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}
    found = environment(offline=True)
    assert {found[name] for name in names} == {"1"}
    assert not names & set(environment(offline=False))


def test_cpu() -> None:
    """On a CPU the threads are bound and the kernels are kept."""
    found = environment(preload=BOTH)
    assert found["VLLM_CPU_OMP_THREADS_BIND"] == "0-1,4"
    assert found["TORCHINDUCTOR_CACHE_DIR"] == "/cache/kernels"
    assert found["KMP_AFFINITY"] == "granularity=fine,explicit,proclist=[0,1,4]"


def test_threads_without_intels_openmp() -> None:
    """Another OpenMP gets none of its settings."""
    found = environment(preload=NOTHING)
    assert not [name for name in found if name.startswith("KMP_")]


def test_gpu() -> None:
    """On a GPU nothing of what a CPU needs is set."""
    found = environment(device="gpu", preload=BOTH)
    assert not {"VLLM_CPU_OMP_THREADS_BIND", "LD_PRELOAD", "VLLM_ENABLE_V1_MULTIPROCESSING"} & set(found)


def test_users_settings_stay() -> None:
    """What the user has set is not set again, an empty value included."""
    mine = {"VLLM_LOGGING_LEVEL": "DEBUG", "VLLM_CPU_OMP_THREADS_BIND": ""}
    assert not set(mine) & set(environment(mine))


def test_preload() -> None:
    """Libraries found are preloaded, after those that the user has preloaded."""
    assert environment(preload=BOTH)["LD_PRELOAD"] == "/l/tc.so:/l/omp.so"
    assert (
        environment({"LD_PRELOAD": "/mine.so"}, preload=BOTH)["LD_PRELOAD"] == "/mine.so:/l/tc.so:/l/omp.so"
    )


def test_nothing_to_preload() -> None:
    """Without libraries, and without a preload of the user's, none is set."""
    assert "LD_PRELOAD" not in environment()


@pytest.mark.parametrize(
    ("preload", "before", "joined"),
    [
        (NOTHING, "", ""),
        (NOTHING, "/a.so", "/a.so"),
        (Preload(Path("/t.so"), None), "", "/t.so"),
        (Preload(None, Path("/o.so")), ":/a.so::", "/a.so:/o.so"),
    ],
)
def test_joined(preload: Preload, before: str, joined: str) -> None:
    """What is not there leaves no empty place in the list."""
    assert preload.joined(before) == joined


@pytest.fixture
def no_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loader that knows no library."""
    monkeypatch.setattr(ctypes.util, "find_library", lambda _: None)


@pytest.mark.usefixtures("no_loader")
def test_find_preload(tmp_path: Path) -> None:
    """The smaller tcmalloc is taken wherever it lies, and of two places the first."""
    first, second = tmp_path / "1", tmp_path / "2"
    for path in (
        first / "libtcmalloc.so.4",
        second / "libtcmalloc_minimal.so.4",
        first / "libiomp5.so",
        second / "libiomp5.so",
    ):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    found = find_preload(iter([tmp_path / "none", first, second]))
    assert found == Preload(second / "libtcmalloc_minimal.so.4", first / "libiomp5.so")


@pytest.mark.usefixtures("no_loader")
def test_find_no_preload(tmp_path: Path) -> None:
    """Where there are no libraries none are found; a folder of such a name is none."""
    (tmp_path / "libiomp5.so").mkdir()
    assert find_preload([tmp_path]) == NOTHING


def test_find_preload_by_the_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tcmalloc that only the loader knows is preloaded by its name."""
    monkeypatch.setattr(ctypes.util, "find_library", {"tcmalloc_minimal": "libtcmalloc_minimal.so.4"}.get)
    assert find_preload([tmp_path]) == Preload(Path("libtcmalloc_minimal.so.4"), None)


def test_found_by_default_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without folders named, this environment's is the first that is looked in."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libiomp5.so").touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert find_preload().openmp == tmp_path / "lib/libiomp5.so"


def test_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache lies where the system's convention has it; an empty setting counts as none."""
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder({"XDG_CACHE_HOME": "/c"}) == Path("/c/codeserve")
    assert cache_folder({}) == Path("/home/me/.cache/codeserve")
    assert cache_folder({"XDG_CACHE_HOME": ""}) == Path("/home/me/.cache/codeserve")


def test_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables are set for the duration; afterwards all is as before, what others changed included."""
    monkeypatch.setenv("T_CHANGED", "before")
    monkeypatch.setenv("T_REMOVED", "before")
    monkeypatch.delenv("T_NEW", raising=False)
    before = dict(os.environ)
    with applied({"T_CHANGED": "during", "T_NEW": "1"}):
        assert os.environ["T_CHANGED"] == "during"
        assert os.environ["T_NEW"] == "1"
        os.environ["T_OTHER"] = "1"
        del os.environ["T_REMOVED"]
    assert dict(os.environ) == before


def test_applied_and_an_error() -> None:
    """An error on the way takes everything back too, and goes on."""
    before = dict(os.environ)
    with pytest.raises(KeyError), applied({"T_NEW": "1"}):
        raise KeyError
    assert dict(os.environ) == before
