"""Models whose weights are made up, and how the settings change a preset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codeserve.commands.model import choose_model
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.dummy import made_up
from codeserve.engine.folder import check_folder, read_config
from codeserve.engine.preset import Speculation
from codeserve.engine.presets import load_presets, resolve_model
from codeserve.engine.shape import shape_of
from codeserve.errors import ConfigError
from codeserve.settings import ServerSettings

from .models import MINI

PRESETS = load_presets()


def test_folder_of_a_preset(tmp_path: Path) -> None:
    """The folder has the preset's shape and CodeLlama's tokenizer, and passes for one without weights."""
    folder = made_up(PRESETS["codellama-7b"], tmp_path / "m", MINI)
    assert shape_of(read_config(folder)) is not None
    assert (read_config(folder)["hidden_size"], read_config(folder)["vocab_size"]) == (4096, 32016)
    assert Tokenizer.load(folder).encode("x")
    check_folder(folder, weights=False)
    with pytest.raises(ConfigError, match="no weights"):
        check_folder(folder)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("codellama-7b-awq", ("awq", 4)), ("codellama-7b-gptq", ("gptq", 4)), ("codellama-7b-fp8", None)],
)
def test_quantised_in_advance(tmp_path: Path, name: str, expected: tuple[str, int] | None) -> None:
    """A checkpoint quantised in advance says so in its config; what is quantised while loading does not."""
    config = read_config(made_up(PRESETS[name], tmp_path, MINI)).get("quantization_config")
    assert (config and (config["quant_method"], config["bits"])) == expected


def test_int8_is_that_of_the_bundled_model(tmp_path: Path) -> None:
    """INT8 weights and activations are made up in the form that the bundled model has them."""
    made, bundled = read_config(made_up(PRESETS["codellama-7b-int8"], tmp_path, MINI)), read_config(MINI)
    assert made["quantization_config"] == bundled["quantization_config"]


@pytest.mark.parametrize(
    ("name", "reason"), [("mini-codellama", "has no \\[shape\\]"), ("qwen2.5-coder-7b", "has another")]
)
def test_models_that_cannot_be_made_up(tmp_path: Path, name: str, reason: str) -> None:
    """Without a shape, or with another vocabulary than the bundled one, it is refused."""
    with pytest.raises(ConfigError, match=reason):
        made_up(PRESETS[name], tmp_path, MINI)


def choose(**settings: Any) -> Any:
    return choose_model(ServerSettings(**settings))[0]


def test_room_for_other_files() -> None:
    """An operator's number goes before the preset's, zero as well."""
    assert choose().snippet_tokens == 0
    assert choose(snippet_tokens=512).snippet_tokens == 512
    assert choose(model="codellama-7b", load_format="dummy").snippet_tokens is None
    assert choose(model="codellama-7b", load_format="dummy", snippet_tokens=0).snippet_tokens == 0


def test_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up weights show in the model's name wherever it is told."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    preset = choose(model="codellama-7b", load_format="dummy")
    assert preset.label == "codellama-7b (dummy weights)"
    assert preset.model == tmp_path / "codeserve" / "dummy" / "codellama-7b"
    assert choose(model="mini-codellama", load_format="dummy").model == MINI  # its config is here


def test_refused_models() -> None:
    """A model that cannot infill is refused by its preset's name, with one that can."""
    for name in ("codellama-34b", "codellama-7b-python", "codellama-34b-python"):
        with pytest.raises(ConfigError, match=r"not trained on infilling.*take codellama-"):
            resolve_model(name)


def test_preset_of_the_users_own(tmp_path: Path) -> None:
    """A preset in a file of any folder is served by its path; its draft model may lie beside it."""
    path = tmp_path / "mine.toml"
    path.write_text(
        f"model = {json.dumps(str(MINI))}\nfim = 'codellama-spm'\n"
        "[speculation]\nmethod = 'draft_model'\nmodel = './draft'\n"
    )
    preset, model = resolve_model(str(path))
    assert (preset.name, model) == ("mine", MINI)
    assert preset.speculation == Speculation(method="draft_model", model=tmp_path / "draft")


def test_speculation_settings() -> None:
    """On is what the preset says; auto drafts by n-grams where it says nothing, and only while it pays."""
    assert choose(speculation="on").speculation is None
    assert choose(speculation="off").speculation is None
    auto = choose(speculation="auto").speculation
    assert auto.method == "ngram"
    assert auto.max_batch > 0
    assert auto.min_accepted > 0


def test_profiles(tmp_path: Path) -> None:
    """With a folder for profiles the engine is set up to write them."""
    assert "profiler_config" not in choose().engine_args
    config = choose(profile_dir=tmp_path).engine_args["profiler_config"]
    assert config["torch_profiler_dir"] == str(tmp_path)
