"""The environment that the engine's processes start in."""

from __future__ import annotations

import os
from pathlib import Path

from codeserve.engine.environment import Preload, applied, cache_folder, engine_environment, find_preload
from codeserve.engine.threads import ThreadPlan

BOTH = Preload(Path("/l/libtcmalloc_minimal.so.4"), Path("/l/libiomp5.so"))


def environment(device: str = "cpu", preload: Preload = BOTH, **environ: str) -> dict[str, str]:
    return engine_environment(
        device=device,
        threads=ThreadPlan((0, 1)),
        preload=preload,
        offline=True,
        cache=Path("/cache"),
        environ=environ,
    )


def test_cpu() -> None:
    """On the CPU threads are bound, both libraries preloaded, and the worker needs no process of its own."""
    found = environment()
    assert found["VLLM_CPU_OMP_THREADS_BIND"] == "0-1"
    assert found["LD_PRELOAD"] == "/l/libtcmalloc_minimal.so.4:/l/libiomp5.so"
    assert found["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
    assert found["TORCHINDUCTOR_CACHE_DIR"] == "/cache/kernels"


def test_gpu() -> None:
    """Nothing of that on a GPU."""
    assert not {"LD_PRELOAD", "VLLM_CPU_OMP_THREADS_BIND"} & set(environment("gpu"))


def test_nothing_goes_outside() -> None:
    """No usage reports; with a model folder no questions to the model hub either."""
    found = environment()
    assert {found[name] for name in ("VLLM_NO_USAGE_STATS", "DO_NOT_TRACK", "HF_HUB_OFFLINE")} == {"1"}


def test_what_the_user_set_stays() -> None:
    """Variables that are set already are not touched; libraries are preloaded after the user's own."""
    found = environment(VLLM_CPU_OMP_THREADS_BIND="5", LD_PRELOAD="/mine.so")
    assert "VLLM_CPU_OMP_THREADS_BIND" not in found
    assert found["LD_PRELOAD"] == "/mine.so:/l/libtcmalloc_minimal.so.4:/l/libiomp5.so"


def test_no_libraries() -> None:
    """Without libraries nothing is preloaded; with one of them that one."""
    assert "LD_PRELOAD" not in environment(preload=Preload(None, None))
    assert environment(preload=Preload(None, BOTH.openmp))["LD_PRELOAD"] == "/l/libiomp5.so"


def test_libraries_are_found(tmp_path: Path) -> None:
    """Libraries are found in the first folder that has them; the small tcmalloc before the whole one."""
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
    (first / "libtcmalloc.so.4").touch()
    for name in ("libtcmalloc_minimal.so.4", "libiomp5.so"):
        (second / name).touch()
    found = find_preload([first, tmp_path / "missing", second])
    assert found == Preload(second / "libtcmalloc_minimal.so.4", second / "libiomp5.so")


def test_cache_folder() -> None:
    """Kernels are kept where the user's caches are."""
    assert cache_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/codeserve")
    assert cache_folder({}) == Path.home() / ".cache" / "codeserve"


def test_applied_and_taken_back() -> None:
    """Variables hold for the duration; all else that changed meanwhile is taken back with them."""
    os.environ["CODESERVE_TEST_OLD"] = "old"
    before = dict(os.environ)
    with applied({"CODESERVE_TEST_NEW": "1", "CODESERVE_TEST_OLD": "new"}):
        assert os.environ["CODESERVE_TEST_NEW"] == "1"
        assert os.environ["CODESERVE_TEST_OLD"] == "new"
        os.environ["CODESERVE_TEST_OTHER"] = "1"
    assert dict(os.environ) == before
    del os.environ["CODESERVE_TEST_OLD"]
