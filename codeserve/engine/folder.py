"""What a model folder holds, read before an engine spends minutes on it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codeserve.engine.weights import Tensor, WeightsFile, check_shapes, read_weights_file
from codeserve.errors import ConfigError

__all__ = [
    "check_folder",
    "folder_context_tokens",
    "folder_fim",
    "read_config",
    "weight_bytes",
    "weights_files",
]

# A sentinel that only one family has in its vocabulary, together with another where one is not enough.
_FIM_MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("codellama-spm", ("▁<PRE>", "▁<SUF>", "▁<MID>")),
    ("deepseek-coder", ("<｜fim▁begin｜>", "<｜fim▁hole｜>")),
    ("codegemma", ("<|fim_prefix|>", "<|file_separator|>")),
    ("qwen2.5-coder", ("<|fim_prefix|>", "<|fim_suffix|>", "<|repo_name|>")),
    ("starcoder2", ("<fim_prefix>", "<fim_suffix>")),
    ("codestral", ("[PREFIX]", "[SUFFIX]")),
)


def _read_json(path: Path, what: str) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{path.parent} has no {path.name} ({what}): the model is not whole, copy or download it again"
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): copy or download the model again") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{path} is not a JSON object: copy or download the model again")
    return value


def read_config(folder: Path) -> dict[str, Any]:
    """The model's config.json. Raises: ConfigError when it is missing or unreadable."""
    return _read_json(folder / "config.json", "what the model is")


def weights_files(folder: Path) -> dict[Path, WeightsFile]:
    """The safetensors files, each whole and with what the index says it holds; none in an older folder.

    Raises: ConfigError when a file is missing, cut short or not a weights file.
    """
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return {path: read_weights_file(path) for path in sorted(folder.glob("*.safetensors"))}
    listed = _read_json(index, "which weights file holds what").get("weight_map")
    if not isinstance(listed, Mapping) or not all(isinstance(name, str) for name in listed.values()):
        raise ConfigError(f"{index} has no weight_map: copy or download the model again")
    files = {name: read_weights_file(folder / name) for name in sorted(set(listed.values()))}
    for tensor, name in listed.items():
        if tensor not in files[name].tensors:
            raise ConfigError(
                f"{folder / name} lacks {tensor}, which the index says it holds: "
                "copy or download the model again"
            )
    return {folder / name: file for name, file in files.items()}


def weight_bytes(folder: Path, *, float32: bool = False) -> int:
    """Size of all weights in bytes as the engine holds them, each file checked to be whole.

    What is stored with 32 bits is loaded with 16, unless the model computes with 32 (``float32``): a
    checkpoint in F32 takes half of its files. In older files, which are not read here, it counts whole.
    Raises: ConfigError when there are none, or a file is missing, cut short or not a weights file.
    """
    files = weights_files(folder)
    wide = 0 if float32 else sum(_wide_bytes(file) for file in files.values())
    return _size(folder, files) - wide // 2


def _wide_bytes(file: WeightsFile) -> int:
    """Of tensors that are stored with 32 bits."""
    return sum(4 * math.prod(tensor.shape) for tensor in file.tensors.values() if tensor.dtype == "F32")


def _size(folder: Path, files: Mapping[Path, WeightsFile]) -> int:
    if files:
        return sum(file.size for file in files.values())
    pickled = sorted(folder.glob("pytorch_model*.bin"))
    if not pickled:
        raise ConfigError(f"{folder} holds no weights (*.safetensors): copy or download the model again")
    return sum(path.stat().st_size for path in pickled)


def _architecture(folder: Path) -> str:
    """The architecture's name, refused here when it plainly cannot write text from left to right."""
    names = read_config(folder).get("architectures")
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        raise ConfigError(f"{folder / 'config.json'} names no architecture: this model cannot be served")
    name = names[0]
    if not name.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")) or name.startswith("T5"):
        raise ConfigError(
            f"{folder} is a {name}, which cannot complete code; use a causal model trained on infilling, "
            "such as CodeLlama, Qwen2.5-Coder or StarCoder2"
        )
    return name


def check_folder(folder: Path, *, weights: bool = True) -> None:
    """Check that a model folder is whole and of one piece.

    ``weights`` is False for one that has none, because they are made up.
    Raises: ConfigError with the file that is wrong and what to do.
    """
    if not folder.is_dir():
        raise ConfigError(
            f"the model folder {folder} does not exist: pass the folder of a model that is here, "
            "or take a checkout of codeserve, which holds mini-codellama"
        )
    _architecture(folder)
    if not (folder / "tokenizer.json").is_file():
        raise ConfigError(
            f"{folder} has no tokenizer.json: copy or download the model again, with its fast tokenizer"
        )
    if not weights:
        return
    files = weights_files(folder)
    _size(folder, files)
    tensors: dict[str, Tensor] = {
        name: tensor for file in files.values() for name, tensor in file.tensors.items()
    }
    check_shapes(folder, read_config(folder), tensors)


def folder_context_tokens(folder: Path) -> int:
    """The longest context the model was made for, in tokens; 4,096 where its config does not say."""
    positions = read_config(folder).get("max_position_embeddings")
    return positions if isinstance(positions, int) and positions > 0 else 4096


def folder_fim(folder: Path) -> str:
    """The infilling format by the sentinels in the tokenizer.

    Raises: ConfigError when it has none, or the model has no embeddings for them: CodeLlama's Python models
    and its 34B, which were not trained on infilling, have a vocabulary of 32,000, below the sentinels.
    """
    tokenizer = _read_json(folder / "tokenizer.json", "the fast tokenizer")
    added, model = tokenizer.get("added_tokens"), tokenizer.get("model")
    entries = added if isinstance(added, list) else []
    pieces = {str(entry.get("content")): entry.get("id") for entry in entries if isinstance(entry, dict)}
    if isinstance(model, dict) and isinstance(vocabulary := model.get("vocab"), dict):
        pieces = vocabulary | pieces
    size = read_config(folder).get("vocab_size")
    for name, marks in _FIM_MARKS:
        if not all(mark in pieces for mark in marks):
            continue
        ids = [pieces[mark] for mark in marks]
        if isinstance(size, int) and any(isinstance(id, int) and id >= size for id in ids):
            raise ConfigError(
                f"{folder} was not trained on infilling: its tokenizer has the sentinels, its vocabulary of "
                f"{size:,} has not; use another model of its family, such as CodeLlama 7B or 13B"
            )
        return name
    raise ConfigError(
        f"{folder}: its tokenizer has no infilling sentinels that codeserve knows; use a model trained on "
        "infilling, such as CodeLlama 7B or 13B, Qwen2.5-Coder, StarCoder2 or DeepSeek-Coder"
    )
