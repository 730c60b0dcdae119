"""Model folders are looked at before an engine spends minutes on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from codeserve.engine.folder import check_folder, folder_context_tokens, folder_fim, weight_bytes
from codeserve.errors import ConfigError
from tests.engine.models import MINI, model, safetensors, sharded, tokenizer


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def test_whole_folders_pass(tmp_path: Path) -> None:
    """A folder with one weights file, one with shards, and the bundled model are whole."""
    check_folder(model(tmp_path / "one"))
    check_folder(sharded(tmp_path / "two"))
    check_folder(MINI)
    assert weight_bytes(MINI) == sum(path.stat().st_size for path in MINI.glob("*.safetensors"))


def test_pickled_weights_pass(tmp_path: Path) -> None:
    """Weights in PyTorch's older format are left to the engine."""
    model(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    check_folder(tmp_path)


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (lambda f: (f / "config.json").unlink(), "has no config.json"),
        (lambda f: (f / "config.json").write_text("{"), "config.json cannot be read"),
        (lambda f: (f / "config.json").write_text("[]"), "config.json is not a JSON object"),
        (lambda f: (f / "config.json").write_text("{}"), "names no architecture"),
        (lambda f: (f / "tokenizer.json").unlink(), "has no tokenizer.json"),
        (lambda f: (f / "model-00002-of-00002.safetensors").unlink(), "00002.safetensors is missing"),
        (lambda f: cut(f / "model-00001-of-00002.safetensors"), "bytes but its header promises"),
        (lambda f: (f / "model-00001-of-00002.safetensors").write_bytes(b"abc"), "not a whole safetensors"),
        (
            lambda f: (f / "model-00001-of-00002.safetensors").write_bytes(b"\xff" * 99),
            "not a whole safetensors",
        ),
        (
            lambda f: (f / "model-00001-of-00002.safetensors").write_bytes(b"\x02" + bytes(7) + b"[]"),
            "not a whole safetensors",
        ),
        (lambda f: (f / "model.safetensors.index.json").write_text("{}"), "has no weight_map"),
    ],
    ids=[
        "config missing",
        "config cut short",
        "config a list",
        "no architecture",
        "tokenizer missing",
        "shard missing",
        "shard cut short",
        "shard tiny",
        "shard of noise",
        "shard with a strange header",
        "index empty",
    ],
)
def test_broken_folders_are_named(tmp_path: Path, breaks: Callable[[Path], object], says: str) -> None:
    """What is missing or cut short is named in one line that says what to do."""
    breaks(sharded(tmp_path))
    with pytest.raises(ConfigError, match=says) as caught:
        check_folder(tmp_path)
    assert "\n" not in str(caught.value)


def test_no_weights(tmp_path: Path) -> None:
    """A folder without weights is refused."""
    (model(tmp_path) / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="holds no weights"):
        check_folder(tmp_path)


def test_missing_folder(tmp_path: Path) -> None:
    """A folder that is not there is refused."""
    with pytest.raises(ConfigError, match="does not exist"):
        check_folder(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["BertForMaskedLM", "T5ForConditionalGeneration", "ViTModel"])
def test_models_that_cannot_write_are_refused(tmp_path: Path, name: str) -> None:
    """An architecture that does not write from left to right is refused without an engine."""
    with pytest.raises(ConfigError, match=f"is a {name}, which cannot complete code"):
        check_folder(model(tmp_path, architectures=[name]))


@pytest.mark.parametrize(
    ("pieces", "name"),
    [
        (("▁<PRE>", "▁<SUF>", "▁<MID>"), "codellama-spm"),
        (("<|fim_prefix|>", "<|fim_suffix|>", "<|repo_name|>"), "qwen2.5-coder"),
        (("<|fim_prefix|>", "<|fim_suffix|>", "<|file_separator|>"), "codegemma"),
        (("<fim_prefix>", "<fim_suffix>", "<fim_middle>"), "starcoder2"),
        (("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"), "deepseek-coder"),
        (("[PREFIX]", "[SUFFIX]"), "codestral"),
    ],
)
def test_format_by_sentinels(tmp_path: Path, pieces: tuple[str, ...], name: str) -> None:
    """The infilling format is told by the tokenizer's sentinels."""
    tokenizer(tmp_path / "tokenizer.json", pieces)
    assert folder_fim(tmp_path) == name


def test_sentinels_in_the_vocabulary(tmp_path: Path) -> None:
    """Sentinels that are plain pieces of the vocabulary are found too."""
    vocabulary = {"<fim_prefix>": 1, "<fim_suffix>": 2}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    assert folder_fim(tmp_path) == "starcoder2"


def test_no_sentinels(tmp_path: Path) -> None:
    """A tokenizer without sentinels is refused."""
    tokenizer(tmp_path / "tokenizer.json", ("<s>",))
    with pytest.raises(ConfigError, match="no infilling sentinels"):
        folder_fim(tmp_path)


def test_context(tmp_path: Path) -> None:
    """The longest context is the config's; 4,096 tokens where it does not say."""
    assert folder_context_tokens(model(tmp_path)) == 2048
    assert folder_context_tokens(model(tmp_path, max_position_embeddings=None)) == 4096


def test_metadata_is_no_tensor(tmp_path: Path) -> None:
    """The header's metadata entry has no byte range."""
    path = model(tmp_path) / "model.safetensors"
    header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert weight_bytes(tmp_path) == 8 + len(header)
    safetensors(path, 10)
    assert weight_bytes(tmp_path) == path.stat().st_size
