"""Model folders, whole and damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codeserve.engine.folder import check_folder, folder_context_tokens, folder_fim, read_config, weight_bytes
from codeserve.errors import ConfigError

from .models import CODELLAMA_PIECES, MINI, safetensors, sharded, write_json


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return sharded(tmp_path / "model")


def refusal(action: Callable[[Path], object], folder: Path) -> str:
    """The message of the refusal, which is one line."""
    with pytest.raises(ConfigError) as caught:
        action(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_whole_folder_passes(model: Path) -> None:
    """A whole folder is accepted, and its weights are counted once a file."""
    for folder in (model, MINI):
        check_folder(folder)
        assert weight_bytes(folder) == sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def test_absent_folder(tmp_path: Path) -> None:
    """A folder that does not exist is named, with what to pass instead."""
    message = refusal(check_folder, tmp_path / "none")
    assert f"{tmp_path / 'none'} does not exist" in message
    assert "mini-codellama" in message


def test_file_is_no_folder(model: Path) -> None:
    """A file in place of the folder is refused."""
    assert "does not exist" in refusal(check_folder, model / "config.json")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_missing_file_is_named(model: Path, name: str) -> None:
    """Without config.json or tokenizer.json the refusal names it."""
    (model / name).unlink()
    message = refusal(check_folder, model)
    assert f"has no {name}" in message
    assert "copy or download" in message


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"architectures": ['])
def test_unreadable_config(model: Path, content: bytes) -> None:
    """A config.json that is cut short or not text is refused by its path."""
    (model / "config.json").write_bytes(content)
    assert f"{model / 'config.json'} cannot be read" in refusal(check_folder, model)


def test_config_that_is_no_object(model: Path) -> None:
    """A config.json that holds a list is refused."""
    write_json(model / "config.json", [])
    assert "not a JSON object" in refusal(read_config, model)


def test_config_that_is_a_folder(model: Path) -> None:
    """A folder in the place of config.json is refused, not a crash."""
    (model / "config.json").unlink()
    (model / "config.json").mkdir()
    assert "cannot be read" in refusal(read_config, model)


@pytest.mark.parametrize("names", [None, [], "LlamaForCausalLM", [3], {}])
def test_no_architecture(model: Path, names: object) -> None:
    """A config.json without a list of architecture names is refused."""
    write_json(model / "config.json", {"architectures": names})
    assert "names no architecture" in refusal(check_folder, model)


@pytest.mark.parametrize("name", ["BertForMaskedLM", "T5ForConditionalGeneration", "RobertaModel"])
def test_architecture_that_cannot_complete(model: Path, name: str) -> None:
    """An architecture that does not write from left to right is refused by name."""
    write_json(model / "config.json", {"architectures": [name]})
    message = refusal(check_folder, model)
    assert f"is a {name}" in message
    assert "CodeLlama" in message


@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "Gemma3ForConditionalGeneration", "Qwen2ForCausalLM"])
def test_causal_architectures_pass(model: Path, name: str) -> None:
    """The usual names of causal models are accepted."""
    write_json(model / "config.json", {"architectures": [name]})
    check_folder(model)


def test_missing_shard(model: Path) -> None:
    """A shard that the index lists and that is not there is named."""
    (model / "model-00002-of-00002.safetensors").unlink()
    message = refusal(check_folder, model)
    assert f"{model / 'model-00002-of-00002.safetensors'} is missing although the index lists it" in message


@pytest.mark.parametrize("missing", [1, 31])
def test_truncated_shard(model: Path, missing: int) -> None:
    """A shard cut short by as little as a byte is named with both sizes."""
    path = model / "model-00002-of-00002.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-missing])
    message = refusal(check_folder, model)
    assert f"{path} has {len(content) - missing:,} bytes but its header promises {len(content):,}" in message


def test_overlong_shard(model: Path) -> None:
    """Bytes behind the last tensor are damage too."""
    with (model / "model-00001-of-00002.safetensors").open("ab") as file:
        file.write(b"x")
    assert "its header promises" in refusal(check_folder, model)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x01",
        bytes(8),
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        (50).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (2).to_bytes(8, "little") + b"\xff\xff",
        (1 << 63).to_bytes(8, "little") + b"{}",
    ],
    ids=["empty", "one byte", "no header", "LFS pointer", "header cut", "a list", "no text", "huge header"],
)
def test_file_that_is_no_safetensors(model: Path, content: bytes) -> None:
    """What is not a safetensors file at all is refused by its path."""
    (model / "model-00001-of-00002.safetensors").write_bytes(content)
    assert f"{model / 'model-00001-of-00002.safetensors'} is not a whole safetensors file" in refusal(
        check_folder, model
    )


@pytest.mark.parametrize(
    "header",
    [{"w": {}}, {"w": {"data_offsets": [0]}}, {"w": {"data_offsets": [0, "16"]}}, {"w": 1}, {"w": None}],
)
def test_header_without_offsets(model: Path, header: dict[str, Any]) -> None:
    """A header whose tensors have no byte range is refused, whatever stands in its place."""
    safetensors(model / "model-00001-of-00002.safetensors", header=header)
    assert "is not a whole safetensors file" in refusal(check_folder, model)


def test_metadata_is_no_tensor(model: Path) -> None:
    """A file with metadata only holds no tensors and is whole."""
    (model / "model.safetensors.index.json").unlink()
    safetensors(model / "model-00001-of-00002.safetensors", 0, {"__metadata__": {"data_offsets": "none"}})
    check_folder(model)


def test_shard_that_is_a_folder(model: Path) -> None:
    """A folder in the place of a shard is refused, not a crash."""
    (model / "model-00001-of-00002.safetensors").unlink()
    (model / "model-00001-of-00002.safetensors").mkdir()
    assert "cannot be read" in refusal(check_folder, model)


@pytest.mark.parametrize("index", [{}, {"weight_map": []}, {"weight_map": {"x": 1}}])
def test_index_without_map(model: Path, index: object) -> None:
    """An index that lists no files is refused."""
    write_json(model / "model.safetensors.index.json", index)
    assert "has no weight_map" in refusal(weight_bytes, model)


def test_unreadable_index(model: Path) -> None:
    """An index cut short is refused by its path."""
    (model / "model.safetensors.index.json").write_text('{"weight')
    assert "model.safetensors.index.json cannot be read" in refusal(weight_bytes, model)


def test_only_listed_files_count(model: Path) -> None:
    """With an index a stray file is neither counted nor checked."""
    expected = weight_bytes(model)
    (model / "stray.safetensors").write_bytes(b"junk")
    assert weight_bytes(model) == expected


def test_without_index_every_file_counts(model: Path) -> None:
    """Without an index all safetensors files are weights."""
    (model / "model.safetensors.index.json").unlink()
    size = safetensors(model / "c.safetensors", 100)
    (model / "model-00001-of-00002.safetensors").unlink()
    assert weight_bytes(model) == size + (model / "model-00002-of-00002.safetensors").stat().st_size


def test_no_weights(model: Path) -> None:
    """A folder without any weights is refused."""
    for path in model.glob("*safetensors*"):
        path.unlink()
    assert "holds no weights" in refusal(check_folder, model)


def test_pickled_weights_count(model: Path) -> None:
    """Older models keep their weights in pytorch_model*.bin."""
    for path in model.glob("*safetensors*"):
        path.unlink()
    (model / "pytorch_model.bin").write_bytes(bytes(123))
    assert weight_bytes(model) == 123


@pytest.mark.parametrize(
    ("value", "tokens"), [(16384, 16384), (None, 4096), ("8192", 4096), (0, 4096), (-1, 4096)]
)
def test_context_tokens(model: Path, value: object, tokens: int) -> None:
    """The context comes from the config, and is 4,096 tokens where that says nothing of use."""
    write_json(model / "config.json", {"max_position_embeddings": value})
    assert folder_context_tokens(model) == tokens


def test_context_tokens_unsaid(model: Path) -> None:
    """A config without the field means 4,096 tokens."""
    write_json(model / "config.json", {})
    assert folder_context_tokens(model) == 4096


@pytest.mark.parametrize(
    ("pieces", "fim"),
    [
        (CODELLAMA_PIECES, "codellama-spm"),
        (("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"), "deepseek-coder"),
        (("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_separator|>"), "codegemma"),
        (("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>"), "qwen2.5-coder"),
        (("<fim_prefix>", "<fim_suffix>", "<fim_middle>"), "starcoder2"),
        (("[PREFIX]", "[SUFFIX]", "[MIDDLE]"), "codestral"),
    ],
)
@pytest.mark.parametrize("added", [True, False])
def test_fim_by_sentinels(model: Path, pieces: tuple[str, ...], fim: str, added: bool) -> None:
    """Each family is told by its sentinels, be they added tokens or a part of the vocabulary."""
    tokens = [{"id": number, "content": piece} for number, piece in enumerate(pieces)] if added else None
    vocabulary = {} if added else dict.fromkeys(pieces, 0)
    write_json(model / "tokenizer.json", {"added_tokens": tokens, "model": {"vocab": vocabulary}})
    assert folder_fim(model) == fim


@pytest.mark.parametrize(
    "tokenizer",
    [
        {},
        {"added_tokens": [{"content": "▁<PRE>"}], "model": {"vocab": {"▁<SUF>": 1}}},
        {"added_tokens": ["<fim_prefix>", 3, {"id": 1}], "model": {"vocab": [["<fim_prefix>", 0.0]]}},
        {"added_tokens": 3},
        {"added_tokens": [{"content": ["<fim_prefix>"]}]},
        {"model": "BPE"},
    ],
)
def test_no_sentinels(model: Path, tokenizer: object) -> None:
    """A tokenizer without a family's sentinels, odd ones included, is refused with models that have them."""
    write_json(model / "tokenizer.json", tokenizer)
    message = refusal(folder_fim, model)
    assert "no infilling sentinels" in message
    assert "Qwen2.5-Coder" in message


def test_sentinels_beyond_the_vocabulary(model: Path) -> None:
    """A model without embeddings for its tokenizer's sentinels, as CodeLlama's Python models, is refused."""
    tokens = [{"id": 32007 + number, "content": piece} for number, piece in enumerate(CODELLAMA_PIECES)]
    write_json(model / "tokenizer.json", {"added_tokens": tokens})
    assert folder_fim(model) == "codellama-spm"
    write_json(model / "config.json", {"vocab_size": 32000})
    assert "was not trained on infilling" in refusal(folder_fim, model)


def test_unreadable_tokenizer(model: Path) -> None:
    """A tokenizer.json cut short is refused by its path."""
    (model / "tokenizer.json").write_text('{"model": {"vocab": {"a": 1')
    assert f"{model / 'tokenizer.json'} cannot be read" in refusal(folder_fim, model)
