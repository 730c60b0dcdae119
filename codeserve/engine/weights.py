"""The weights files of a model folder, read by their headers alone: are they whole, do they fit the config.

An engine may load a tensor that is too large and compute with a corner of it, without a word: what it then
serves is noise. The shapes are all in the headers, so they are compared before anything is loaded.

The format of a weights file: 8 bytes, little endian, give the length of a JSON header; the header gives each
tensor's type, shape and byte range in what follows (https://github.com/huggingface/safetensors, "Format").
The names and shapes of tensors are those of the families' classes in Hugging Face's transformers.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from codeserve.errors import ConfigError

__all__ = ["Tensor", "WeightsFile", "check_shapes", "read_weights_file"]

_MAX_HEADER = 100_000_000  # what the safetensors library itself accepts

# Families whose layers all look the same, with these names; others are not looked into.
_FAMILIES = frozenset(
    {"llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "starcoder2", "granite"}
)
_LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)")
# Types in which a matrix keeps its shape. Packed 4-bit weights are U8 or I32 and lie in other shapes.
_PLAIN = frozenset({"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "I8"})


@attrs.frozen
class Tensor:
    """One tensor by its header: safetensors' name of its type, and its shape."""

    dtype: str
    shape: tuple[int, ...]


@attrs.frozen
class WeightsFile:
    """A whole weights file: its size in bytes, and its tensors by name."""

    size: int
    tensors: Mapping[str, Tensor]


def read_weights_file(path: Path) -> WeightsFile:
    """Read a file's header. Raises: ConfigError when it is missing, cut short or no weights file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(_MAX_HEADER, size - 8):
                raise ValueError("the header does not fit")
            header = json.loads(file.read(length))
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        ends = [entry["data_offsets"][1] for entry in entries.values()]
        expected = 8 + length + max(ends, default=0)
        tensors = {name: _tensor(entry) for name, entry in entries.items()}
    except FileNotFoundError:
        raise ConfigError(
            f"{path} is missing although the index lists it: copy or download the model again"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise ConfigError(f"{path} is not a whole safetensors file: copy or download it again") from error
    if size != expected:
        raise ConfigError(
            f"{path} has {size:,} bytes but its header promises {expected:,}: copy or download it again"
        )
    return WeightsFile(size, tensors)


def _tensor(entry: Mapping[str, Any]) -> Tensor:
    return Tensor(str(entry["dtype"]), tuple(int(side) for side in entry["shape"]))


def check_shapes(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Compare all tensors of a model with its config.json; a family that is not known here passes.

    Raises: ConfigError that names the tensor, its shape and what the config says.
    """
    if config.get("model_type") not in _FAMILIES:
        return
    layers: defaultdict[str, set[int]] = defaultdict(set)
    for name in tensors:
        if (match := _LAYER.fullmatch(name)) is not None:
            layers[match[2]].add(int(match[1]))
    if not layers:
        return  # named in a way of its own
    _check_layers(folder, config, layers)
    for pattern, key, expected in _expectations(config):
        for name, tensor in tensors.items():
            if pattern.fullmatch(name) and tensor.dtype in _PLAIN and tensor.shape != expected:
                raise ConfigError(
                    f"{folder}: {name} is {_by(tensor.shape)} where config.json's {key} make it "
                    f"{_by(expected)}: config.json and weights are of two models, copy or download it again"
                )


def _check_layers(folder: Path, config: Mapping[str, Any], layers: Mapping[str, set[int]]) -> None:
    """Each kind of tensor must be there once for every layer that the config counts."""
    count = config.get("num_hidden_layers")
    if not isinstance(count, int):
        return
    wanted = set(range(count))
    there = set().union(*layers.values())
    if there != wanted:
        raise ConfigError(
            f"{folder}: the weights hold {len(there)} layers where config.json's num_hidden_layers is "
            f"{count}: config.json and weights are of two models, copy or download it again"
        )
    if config.get("quantization_config"):
        return  # a layer that was left as it was has other tensors than the rest
    for kind, numbers in sorted(layers.items()):
        if numbers != wanted:
            missing = min(wanted - numbers)
            raise ConfigError(
                f"{folder}: the weights lack model.layers.{missing}.{kind}: copy or download the model again"
            )


def _expectations(
    config: Mapping[str, Any],
) -> Iterator[tuple[re.Pattern[str], str, tuple[int, ...]]]:
    """Names of tensors, the keys that their shape comes from, and that shape; what the config says of it."""

    def number(key: str) -> int | None:
        value = config.get(key)
        return value if type(value) is int and value > 0 else None

    hidden, vocabulary, inner = map(number, ("hidden_size", "vocab_size", "intermediate_size"))
    heads = number("num_attention_heads")
    if hidden is None:
        return
    if vocabulary is not None:
        embeddings = re.compile(r"model\.embed_tokens\.weight|lm_head\.weight")
        yield embeddings, "vocab_size and hidden_size", (vocabulary, hidden)
    norms = re.compile(r"model\.(?:layers\.\d+\.(?:input|post_attention)_layer)?norm\.weight")
    yield norms, "hidden_size", (hidden,)
    if inner is not None:
        keys = "intermediate_size and hidden_size"
        yield _in_layers(r"mlp\.(?:gate_proj|up_proj|c_fc)"), keys, (inner, hidden)
        yield _in_layers(r"mlp\.(?:down_proj|c_proj)"), keys, (hidden, inner)
    if heads is not None:
        width = number("head_dim") or hidden // heads
        keys = "num_attention_heads, head_dim and hidden_size"
        yield _in_layers(r"self_attn\.q_proj"), keys, (heads * width, hidden)
        yield _in_layers(r"self_attn\.o_proj"), keys, (hidden, heads * width)
        shared = number("num_key_value_heads") or heads
        keys = "num_key_value_heads, head_dim and hidden_size"
        yield _in_layers(r"self_attn\.(?:k|v)_proj"), keys, (shared * width, hidden)


def _in_layers(name: str) -> re.Pattern[str]:
    return re.compile(rf"model\.layers\.\d+\.{name}\.weight")


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
