"""Presets, right and wrong, and how a model is found by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from codeserve.completion.fim import FIM_FORMATS
from codeserve.engine.presets import (
    Preset,
    Speculation,
    load_presets,
    presets_folder,
    read_preset,
    resolve_model,
)
from codeserve.errors import ConfigError

from .models import MINI, sharded, tokenizer

GOOD = 'model = "org/model"\nfim = "codellama-spm"\n'


def write(folder: Path, text: str, name: str = "some.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def preset(name: str = "some", **fields: Any) -> Preset:
    return Preset(**({"name": name, "model": "org/model", "fim": "codellama-spm"} | fields))


def refusal(text: str, folder: Path) -> str:
    """Why a preset with this text is refused, in one line that begins with its path."""
    path = write(folder, text)
    with pytest.raises(ConfigError) as caught:
        read_preset(path)
    message = str(caught.value)
    assert message.startswith(f"preset {path}")
    assert "\n" not in message.partition("TOML")[0]
    return message


def test_shipped_presets_are_right() -> None:
    """Every preset that is shipped can be read, is described and names a known infilling format."""
    presets = load_presets()
    assert {"mini-codellama", "codellama-7b", "codellama-13b"} <= set(presets)
    assert presets["codellama-7b"].model == "codellama/CodeLlama-7b-hf"
    assert presets["codellama-7b"].device == "gpu"
    for shipped in presets.values():
        assert shipped.description
        assert shipped.fim in FIM_FORMATS


def test_bundled_model_is_whole() -> None:
    """The preset of the bundled model leads to a whole folder."""
    found, model = resolve_model("mini-codellama")
    assert found.name == "mini-codellama"
    assert model == found.model == MINI


def test_quantisation_of_shipped_presets_does_something() -> None:
    """No preset has a quantisation that vLLM knows and leaves the layers of such models out of."""
    # vllm/config/quantization.py: of these only layers of experts are quantised.
    experts_only = {"int8_per_channel_weight_only", "nvfp4_per_token", "experts_int8", "moe_wna16"}
    presets = load_presets().values()
    assert not [preset.name for preset in presets if preset.quantization in experts_only]
    made = {preset.name for preset in presets if preset.weights == "quantize"}
    assert made == {preset.name for preset in presets if preset.quantization == "compressed-tensors"}
    assert made == {"codellama-7b-int8", "codellama-13b-int8"}


def test_weights_that_are_not_int8(tmp_path: Path) -> None:
    """A preset of INT8 weights refuses a folder of others, and takes one of such."""
    some = preset(weights="quantize", quantization="compressed-tensors")
    with pytest.raises(ConfigError, match=r"is not INT8, which some is served in: .*codeserve quantize"):
        resolve_model("some", weights=sharded(tmp_path / "m"), presets={"some": some})
    assert resolve_model("some", weights=MINI, presets={"some": some})[1] == MINI


def test_presets_folder_holds_presets() -> None:
    """The folder of the presets is there."""
    assert list(presets_folder().glob("*.toml"))


def test_least_preset(tmp_path: Path) -> None:
    """Model and format are enough; the name is the file's."""
    assert read_preset(write(tmp_path, GOOD, "least.toml")) == preset("least")


def test_every_field(tmp_path: Path) -> None:
    """All fields are read, a whole number for a fraction and a table of engine arguments included."""
    text = GOOD + (
        'device = "gpu"\ncontext_tokens = 8192\nmax_output_tokens = 64\ndtype = "float16"\n'
        'quantization = "awq"\nkv_cache_dtype = "fp8"\nkv_cache_bytes = 1024\ngpu_memory_utilization = 1\n'
        "min_confidence = -1\nsnippet_tokens = 0\n"
        "block_size = 16\ntensor_parallel = 2\npipeline_parallel = 3\ndata_parallel = 4\nmax_sequences = 5\n"
        '[speculation]\nmethod = "ngram"\nnum_speculative_tokens = 6\nprompt_lookup_max = 7\n'
        "prompt_lookup_min = 3\n[engine_args]\nseed = 1\nlist = [1, 'two']\n"
    )
    assert read_preset(write(tmp_path, text)) == preset(
        device="gpu",
        context_tokens=8192,
        max_output_tokens=64,
        dtype="float16",
        quantization="awq",
        kv_cache_dtype="fp8",
        kv_cache_bytes=1024,
        gpu_memory_utilization=1.0,
        min_confidence=-1.0,
        snippet_tokens=0,
        block_size=16,
        tensor_parallel=2,
        pipeline_parallel=3,
        data_parallel=4,
        max_sequences=5,
        speculation=Speculation(
            method="ngram", num_speculative_tokens=6, prompt_lookup_max=7, prompt_lookup_min=3
        ),
        engine_args={"seed": 1, "list": [1, "two"]},
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fim = 'codellama-spm'", "model is missing"),
        ("model = 'org/model'", "fim is missing"),
        (GOOD + "contxt_tokens = 4096", "unknown key 'contxt_tokens'; known are batch_tokens, block_size,"),
        ("modle = 'org/model'\nfim = 'codellama-spm'", "unknown key 'modle'"),
        (GOOD + "name = 'other'", "unknown key 'name'; a preset's name is its file's name"),
        (GOOD + "[speculation]\nmethod = 'ngram'\nlookup = 3", "unknown key 'lookup'"),
        (GOOD + "[speculation]\nnum_speculative_tokens = 3", "speculation.method is missing"),
        (GOOD + "[speculation]\nmethod = 'guess'", "speculation.method: guess not in"),
        (
            GOOD + "[speculation]\nmethod = 'eagle'",
            "draft_model and eagle and eagle3 need a model",
        ),
        (GOOD + "[speculation]\nmethod = 'ngram'\nmodel = 'x/y'", "the other methods have none"),
        (GOOD + "load_format = 'pt'", "load_format: pt not in"),
        (GOOD + "weights = 'made'", "weights: made not in"),
        (GOOD + "[shape]\nlayers = 0", "shape."),
        (GOOD + "[speculation]\nmethod = 'ngram'\nprompt_lookup_min = 9", "prompt_lookup_min is above"),
        (GOOD + "[speculation]\nmethod = 'ngram'\nnum_speculative_tokens = 0", "num_speculative_tokens"),
        (GOOD + "speculation = 'ngram'", "speculation is of the wrong type"),
        (GOOD + "engine_args = 3", "engine_args is of the wrong type"),
        (GOOD + "engine_args = 'seed'", "engine_args is of the wrong type"),
        (GOOD + "context_tokens = '4096'", "context_tokens: must be of type int"),
        (GOOD + "context_tokens = 4096.0", "context_tokens: must be of type int"),
        (GOOD + "context_tokens = true", "context_tokens: must be of type int"),
        (GOOD + "context_tokens = [4096]", "context_tokens: must be of type int"),
        (GOOD + "context_tokens = 255", "context_tokens"),
        (GOOD + "context_tokens = 256\nmax_output_tokens = 256", "max_output_tokens leaves no room"),
        (GOOD + "max_output_tokens = 0", "max_output_tokens"),
        (GOOD + "quantization = 4", "quantization: must be of type str"),
        (GOOD + "kv_cache_bytes = 0", "kv_cache_bytes"),
        (GOOD + "kv_cache_bytes = '1 GiB'", "kv_cache_bytes: must be of type int"),
        (GOOD + "gpu_memory_utilization = 0", "gpu_memory_utilization"),
        (GOOD + "gpu_memory_utilization = 1.1", "gpu_memory_utilization"),
        (GOOD + "gpu_memory_utilization = nan", "gpu_memory_utilization"),
        (GOOD + "gpu_memory_utilization = '0.9'", "gpu_memory_utilization: must be of type float"),
        (GOOD + "min_confidence = 0.5", "min_confidence must be from -100 to 0"),
        (GOOD + "min_confidence = -101", "min_confidence must be from -100 to 0"),
        (GOOD + "snippet_tokens = -1", "snippet_tokens"),
        (GOOD + "snippet_tokens = false", "snippet_tokens: must be of type int"),
        (GOOD + "block_size = 0", "block_size"),
        (GOOD + "max_sequences = -1", "max_sequences"),
        (GOOD + "tensor_parallel = 0", "tensor_parallel"),
        (GOOD + "device = 'tpu'", "device: tpu not in ['auto', 'cpu', 'gpu']"),
        (GOOD + "dtype = 16", "dtype: must be of type str"),
        ("model = ''\nfim = 'codellama-spm'", "model: must be a folder or a Hugging Face id"),
        ("model = 3\nfim = 'codellama-spm'", "model: must be a folder or a Hugging Face id"),
        ("model = '~nobody-of-this-name/m'\nfim = 'codellama-spm'", "model"),
        (GOOD + "context_tokens = ", "is not valid TOML"),
        (GOOD + GOOD, "is not valid TOML"),
    ],
)
def test_wrong_preset(tmp_path: Path, text: str, expected: str) -> None:
    """What is wrong with a preset is told with its file and the key."""
    assert expected in refusal(text, tmp_path)


def test_preset_that_is_no_text(tmp_path: Path) -> None:
    """A file that is not UTF-8 is no preset."""
    path = tmp_path / "some.toml"
    path.write_bytes(b'model = "\xff"')
    with pytest.raises(ConfigError, match="is not valid TOML"):
        read_preset(path)


def test_preset_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there, or a folder, is told by its path."""
    (tmp_path / "folder.toml").mkdir()
    for name in ("none.toml", "folder.toml"):
        with pytest.raises(ConfigError, match=rf"{name} cannot be read"):
            read_preset(tmp_path / name)


@pytest.mark.parametrize("model", ["./models/m", "../presets/models/m", "~/models/m"])
def test_relative_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """A model's folder is found from the preset's file, or from the home folder."""
    folder = tmp_path / "presets"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    found = read_preset(write(folder, f"model = '{model}'\nfim = 'codellama-spm'"))
    assert found.model == folder / "models" / "m"


def test_load_presets_by_name(tmp_path: Path) -> None:
    """Presets are found by their file's name; other files are let be."""
    for name in ("b.toml", "a.toml", "notes.txt"):
        write(tmp_path, GOOD, name)
    assert list(load_presets(tmp_path)) == ["a", "b"]


def test_one_wrong_preset(tmp_path: Path) -> None:
    """One wrong preset is told, not left out."""
    write(tmp_path, GOOD, "a.toml")
    write(tmp_path, "fim = 3", "b.toml")
    with pytest.raises(ConfigError, match=r"b\.toml"):
        load_presets(tmp_path)


def test_no_presets(tmp_path: Path) -> None:
    """An installation without presets is told to be broken."""
    with pytest.raises(ConfigError, match="install codeserve again"):
        load_presets(tmp_path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mini-codelama", "did you mean mini-codellama"),
        ("codellama-7", "did you mean codellama-7b"),
        ("zzz", "known are codellama-7b, mini-codellama"),
        ("", "known are codellama-7b, mini-codellama"),
        ("x" * 5000, "known are codellama-7b, mini-codellama"),
        ("a\0b", "known are codellama-7b, mini-codellama"),
    ],
)
def test_unknown_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, hint: str) -> None:
    """An unknown name is answered with the nearest names, or all of them."""
    monkeypatch.chdir(tmp_path)
    presets = {name: preset(name) for name in ("mini-codellama", "codellama-7b")}
    with pytest.raises(ConfigError) as caught:
        resolve_model(name, presets=presets)
    assert "unknown model" in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize("path", ["./none", "none/at/all", "/none", "~/none", "~nobody-of-this-name/none"])
def test_unknown_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """What looks like a path is answered with what a model folder holds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=r"is not a folder; pass a model folder .* presets: some"):
        resolve_model(path, presets={"some": preset()})


def test_hugging_face_id_is_given_back() -> None:
    """A preset with a Hugging Face id is found without asking anybody."""
    some = preset()
    assert resolve_model("some", presets={"some": some}) == (some, "org/model")


def test_weights_take_the_place_of_the_model(tmp_path: Path) -> None:
    """A preset runs with other weights, and keeps all else."""
    folder = sharded(tmp_path / "m")
    some = preset(context_tokens=512)
    found, model = resolve_model("some", weights=folder, presets={"some": some})
    assert model == folder
    assert found == attrs.evolve(some, model=folder)


def test_weights_are_checked(tmp_path: Path) -> None:
    """Weights that are not whole are refused."""
    folder = sharded(tmp_path / "m")
    (folder / "model-00001-of-00002.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"00001-of-00002\.safetensors is missing"):
        resolve_model("some", weights=folder, presets={"some": preset()})


def test_folder_as_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model folder, given relatively too, makes a preset of its own."""
    folder = sharded(tmp_path / "mine", max_position_embeddings=16384)
    monkeypatch.chdir(tmp_path)
    expected = preset("mine", model=folder, context_tokens=4096)
    assert resolve_model("mine", presets={}) == (expected, folder)
    assert resolve_model(str(folder), presets={}) == (expected, folder)


def test_folder_with_a_short_context(tmp_path: Path) -> None:
    """A folder's preset keeps to the context that the model was made for."""
    folder = sharded(tmp_path / "m", max_position_embeddings=2048)
    assert resolve_model(str(folder), presets={})[0].context_tokens == 2048


def test_folder_with_too_short_a_context(tmp_path: Path) -> None:
    """A model with no room for code is refused."""
    folder = sharded(tmp_path / "m", max_position_embeddings=128)
    with pytest.raises(ConfigError, match="a context of 128 tokens is too short"):
        resolve_model(str(folder), presets={})


def test_folder_without_sentinels(tmp_path: Path) -> None:
    """A folder whose model was not trained on infilling is refused."""
    folder = sharded(tmp_path / "m")
    tokenizer(folder / "tokenizer.json", ("a", "b"))
    with pytest.raises(ConfigError, match="no infilling sentinels"):
        resolve_model(str(folder), presets={})


def test_folder_that_is_not_whole(tmp_path: Path) -> None:
    """A folder given by its path is checked."""
    folder = sharded(tmp_path / "m")
    (folder / "config.json").unlink()
    with pytest.raises(ConfigError, match=r"has no config\.json"):
        resolve_model(str(folder), presets={})
