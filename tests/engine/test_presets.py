"""Presets and the choice of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeserve.completion.fim import FIM_FORMATS
from codeserve.engine.presets import load_presets, presets_folder, read_preset, resolve_model
from codeserve.errors import ConfigError
from tests.engine.models import MINI, model, sharded

WHOLE = 'model = "a/b"\nfim = "codellama-spm"\n'


def write(folder: Path, text: str, name: str = "test.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_shipped_presets() -> None:
    """The shipped presets load, and name formats that exist."""
    presets = load_presets()
    assert {"mini-codellama", "codellama-7b", "codellama-13b"} <= set(presets)
    assert {preset.fim for preset in presets.values()} <= set(FIM_FORMATS)
    assert presets["codellama-7b"].model == "codellama/CodeLlama-7b-hf"
    assert presets["codellama-7b"].device == "gpu"


def test_bundled_model() -> None:
    """The bundled model is found beside its preset, and is whole."""
    preset, folder = resolve_model("mini-codellama")
    assert folder == preset.model == MINI
    assert presets_folder().is_dir()


def test_defaults(tmp_path: Path) -> None:
    """A preset needs a model and a format; its name is its file's."""
    preset = read_preset(write(tmp_path, WHOLE))
    assert (preset.name, preset.model, preset.fim) == ("test", "a/b", "codellama-spm")
    assert (preset.device, preset.context_tokens, preset.speculation) == ("auto", 4096, None)


def test_speculation(tmp_path: Path) -> None:
    """N-gram speculation is a table of its own."""
    preset = read_preset(write(tmp_path, WHOLE + '[speculation]\nmethod = "ngram"\nprompt_lookup_max = 3\n'))
    assert preset.speculation is not None
    assert (preset.speculation.method, preset.speculation.prompt_lookup_max) == ("ngram", 3)


def test_folder_is_taken_from_the_file(tmp_path: Path) -> None:
    """A relative folder is relative to the preset."""
    preset = read_preset(write(tmp_path, 'model = "../there"\nfim = "codellama-spm"\n'))
    assert preset.model == tmp_path.parent / "there"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (WHOLE + "contxt_tokens = 5\n", "unknown key 'contxt_tokens'; known are .*context_tokens"),
        (WHOLE + '[speculation]\nmethod = "ngram"\nfoo = 1\n', "unknown key 'foo'"),
        (WHOLE + 'name = "x"\n', "unknown key 'name'"),
        ('modle = "a/b"\nfim = "x"\n', "unknown key 'modle'"),
        ('model = "a/b"\n', "fim is missing"),
        ('model = 3\nfim = "x"\n', "model: must be a folder"),
        ('model = ""\nfim = "x"\n', "model: must be a folder"),
        (WHOLE + 'context_tokens = "4096"\n', "context_tokens: must be of type int"),
        (WHOLE + "context_tokens = true\n", "context_tokens: must be of type int"),
        (WHOLE + "context_tokens = 3\n", "'context_tokens' must be >= 256"),
        (WHOLE + "max_output_tokens = 4096\n", "no room for a prompt"),
        (WHOLE + 'device = "tpu"\n', "device: tpu not in"),
        (WHOLE + "gpu_memory_utilization = 2\n", "gpu_memory_utilization"),
        (WHOLE + "speculation = 3\n", "speculation is of the wrong type"),
        (WHOLE + '[speculation]\nmethod = "eagle"\n', "speculation.method: eagle not in"),
        (WHOLE + '[speculation]\nmethod = "ngram"\nprompt_lookup_min = 9\n', "prompt_lookup_min is above"),
        ("model = ", "not valid TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, says: str) -> None:
    """A wrong preset is refused with its file and the key that is wrong, in one line."""
    with pytest.raises(ConfigError, match=says) as caught:
        read_preset(write(tmp_path, text))
    assert "test.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable_preset(tmp_path: Path) -> None:
    """A file that is not text, or not there, is refused."""
    (tmp_path / "test.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not valid TOML"):
        read_preset(tmp_path / "test.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_preset(tmp_path / "other.toml")


def test_no_presets(tmp_path: Path) -> None:
    """An installation without presets is not whole."""
    with pytest.raises(ConfigError, match="install codeserve again"):
        load_presets(tmp_path)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("codelama-7b", "did you mean codellama-7b"),
        ("zzz", "known are codellama-13b"),
        ("./nowhere", "is not a folder; pass a model folder"),
    ],
)
def test_unknown_models(name: str, says: str) -> None:
    """An unknown name is answered with the closest ones, a path with what a folder holds."""
    with pytest.raises(ConfigError, match=says):
        resolve_model(name)


def test_model_folder(tmp_path: Path) -> None:
    """A folder becomes a preset of its own: format by its tokenizer, context by its config."""
    preset, folder = resolve_model(str(model(tmp_path / "mine")))
    assert folder == tmp_path / "mine"
    assert (preset.name, preset.fim, preset.context_tokens) == ("mine", "codellama-spm", 2048)


def test_model_folder_with_a_short_context(tmp_path: Path) -> None:
    """A model of a handful of tokens is refused in one line."""
    with pytest.raises(ConfigError, match="64 tokens is too short"):
        resolve_model(str(model(tmp_path, max_position_embeddings=64)))


def test_weights_in_place_of_an_id(tmp_path: Path) -> None:
    """A preset that names a Hugging Face id can run from a folder."""
    preset, where = resolve_model("codellama-7b")
    assert (preset.name, where) == ("codellama-7b", "codellama/CodeLlama-7b-hf")
    preset, where = resolve_model("codellama-7b", weights=sharded(tmp_path))
    assert (preset.name, preset.model, where) == ("codellama-7b", tmp_path, tmp_path)


def test_broken_folder_in_place_of_an_id(tmp_path: Path) -> None:
    """That folder is checked too."""
    (model(tmp_path) / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match="no tokenizer"):
        resolve_model("codellama-7b", weights=tmp_path)
