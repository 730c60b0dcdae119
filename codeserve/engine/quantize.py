"""A model folder made INT8: read, rounded and written a few rows at a time.

A model of any size needs the memory of a few rows, and of one tensor's scales.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
import torch
from safetensors import SafetensorError, safe_open

from codeserve.engine.folder import check_folder, read_config, weights_files
from codeserve.engine.int8 import INT8_CONFIG
from codeserve.engine.memory import gib
from codeserve.engine.rounding import quantise_rows
from codeserve.engine.shards import TensorFile, shard_names, split, tensor_bytes, write_index
from codeserve.engine.weights import Tensor
from codeserve.errors import ConfigError

__all__ = ["SHARD_BYTES", "Progress", "check_new", "quantize", "write_int8"]

SHARD_BYTES = 5_000_000_000  # of one file, as Hugging Face's libraries cut them

Progress = Callable[[int, int], None]  # bytes read, and bytes to read in all

# Families whose layers hold these matrices and no others.
_ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM")
_LINEAR = re.compile(r"model\.layers\.\d+\.(?:self_attn\.[qkvo]_proj|mlp\.(?:gate|up|down)_proj)\.weight")
_KEPT = re.compile(r"model\.embed_tokens\.weight|lm_head\.weight|model\.norm\.weight|model\.layers\.\d+\..+")
_COMPUTED = ".rotary_emb.inv_freq"  # in some older folders, read by nobody

_TYPES = {"F16": "F16", "BF16": "BF16", "F32": "BF16"}  # of what keeps 16 bits
_TORCH = {"F16": torch.float16, "BF16": torch.bfloat16}
_SOURCE_BYTES = {"F16": 2, "BF16": 2, "F32": 4}

_SMALL = 64 << 20  # tokenizer, config and headers, with room to spare
_VALUES = 1 << 20  # at a time: in fp32 they still fit a core's cache

# Beside config and weights: the tokenizer in whichever form, and the terms that go with the weights.
_COPIED = ("*token*.json", "vocab.json", "merges.txt", "tokenizer.model", "generation_config.json")
_TERMS = ("LICENSE*", "NOTICE*", "USE_POLICY*")


@attrs.frozen
class _Part:
    """A tensor of the source, and what it becomes."""

    name: str
    file: Path
    stored: Tensor

    @property
    def linear(self) -> bool:
        return _LINEAR.fullmatch(self.name) is not None

    @property
    def source_bytes(self) -> int:
        values = tensor_bytes(Tensor("I8", self.stored.shape))
        return values * _SOURCE_BYTES[self.stored.dtype]

    @property
    def outputs(self) -> dict[str, Tensor]:
        if not self.linear:
            return {self.name: Tensor(_TYPES[self.stored.dtype], self.stored.shape)}
        return {
            self.name: Tensor("I8", self.stored.shape),
            f"{self.name}_scale": Tensor("BF16", (self.stored.shape[0], 1)),
        }

    @property
    def bytes(self) -> int:
        return sum(map(tensor_bytes, self.outputs.values()))


def check_new(out: Path) -> None:
    """Raises: ConfigError for a folder that is there already, whatever is in it."""
    if out.exists() or out.is_symlink():
        raise ConfigError(f"{out} is there already: name a folder that is not, or remove it")


def quantize(source: Path, out: Path, *, on_progress: Progress = lambda done, of: None) -> int:
    """Write the INT8 form of a model folder as the new folder ``out``, whole or not at all.

    Returns the size of its weights in bytes. Blocks for minutes with a model of billions of parameters.
    Raises: ConfigError, one line that says what to do.
    """
    check_new(out)
    size = sum(part.bytes for part in _parts(source))
    part = out.with_name(f"{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _check_room(out.parent, size)
        if part.exists():
            raise ConfigError(
                f"{part} is there: another run writes it, or one was killed; in that case remove it"
            )
        part.mkdir()
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}") from error
    try:
        write_int8(source, part, on_progress=on_progress)
        check_folder(part)
        part.rename(out)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}") from error
    except SafetensorError as error:
        raise ConfigError(f"{source} is damaged ({error}): copy or download it again") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return size


def write_int8(
    source: Path,
    folder: Path,
    *,
    shard_bytes: int = SHARD_BYTES,
    search: bool = True,
    on_progress: Progress = lambda done, of: None,
) -> int:
    """Write the INT8 form of a model folder into a folder without weights, in files of at most
    ``shard_bytes`` unless one tensor alone is larger; ``search`` is that of `quantise_rows`. Returns the
    size of its weights in bytes.

    Raises: ConfigError for a model that is not whole or not covered; OSError.
    """
    parts = {part.name: part for part in _parts(source)}
    groups = split({name: part.bytes for name, part in parts.items()}, shard_bytes)
    files = shard_names(len(groups))
    total, done = sum(part.source_bytes for part in parts.values()), 0
    weight_map: dict[str, str] = {}
    with ExitStack() as stack:
        opened = {
            path: stack.enter_context(safe_open(path, framework="pt"))
            for path in sorted({part.file for part in parts.values()})
        }
        for file, names in zip(files, groups, strict=True):
            outputs = {name: tensor for one in names for name, tensor in parts[one].outputs.items()}
            weight_map |= dict.fromkeys(outputs, file)
            with TensorFile(folder / file, outputs) as written:
                for name in names:
                    for size in _convert(parts[name], opened[parts[name].file], written, search):
                        done += size
                        on_progress(done, total)
    size = sum(part.bytes for part in parts.values())
    if len(files) > 1:
        write_index(folder, weight_map, size)
    config = json.dumps(_config(source), indent=2) + "\n"
    (folder / "config.json").write_text(config, encoding="utf-8")
    for path in sorted(path for pattern in (*_COPIED, *_TERMS) for path in source.glob(pattern)):
        shutil.copyfile(path, folder / path.name)
    return size


def _convert(part: _Part, opened: Any, written: TensorFile, search: bool) -> Iterator[int]:
    """Write a tensor's outputs; yields the bytes read with each step."""
    tensor, shape = opened.get_slice(part.name), part.stored.shape
    rows = max(1, _VALUES // max(1, tensor_bytes(Tensor("I8", shape[1:]))))
    size = part.source_bytes // max(1, shape[0])
    for begin in range(0, shape[0], rows):
        piece = tensor[begin : begin + rows]
        if part.linear:
            try:
                numbers, scales = quantise_rows(piece, search=search)
            except ValueError as error:
                raise ConfigError(f"{part.file}: {part.name}: {error}; copy or download it again") from None
            written.append(part.name, _raw(numbers))
            written.append(f"{part.name}_scale", _raw(scales))
        else:
            written.append(part.name, _raw(piece.to(_TORCH[_TYPES[part.stored.dtype]])))
        yield size * len(piece)


def _raw(tensor: torch.Tensor) -> memoryview:
    return memoryview(tensor.contiguous().view(torch.uint8).numpy()).cast("B")


def _config(source: Path) -> dict[str, Any]:
    """The source's config with the form of the weights, and 16 bits where it said 32."""
    config = read_config(source) | {"quantization_config": dict(INT8_CONFIG)}
    for key in ("torch_dtype", "dtype"):
        if config.get(key) == "float32":
            config[key] = "bfloat16"
    return config


def _parts(source: Path) -> list[_Part]:
    """All tensors of a folder that can be made INT8.

    Raises: ConfigError for one that is not whole, has other weights than safetensors of 16 or 32 bits, is
    quantised already, or of a family that is not covered.
    """
    check_folder(source)
    config = read_config(source)
    if config.get("quantization_config"):
        raise ConfigError(
            f"{source} is quantised already: take the folder of the weights as they were trained"
        )
    architecture = config["architectures"][0]
    if architecture not in _ARCHITECTURES:
        raise ConfigError(
            f"{source} is a {architecture}, which is not covered: CodeLlama, DeepSeek-Coder, Qwen2.5-Coder "
            f"and Codestral are ({', '.join(_ARCHITECTURES)})"
        )
    files = weights_files(source)
    if not files:
        raise ConfigError(
            f"{source} holds pickled weights (*.bin), which run code when they are read: take the model's "
            "*.safetensors"
        )
    parts = [
        _Part(name, path, tensor)
        for path, file in files.items()
        for name, tensor in file.tensors.items()
        if not name.endswith(_COMPUTED)
    ]
    for part in parts:
        _check_part(source, part)
    return parts


def _check_part(source: Path, part: _Part) -> None:
    """Raises: ConfigError for a tensor of a kind that the families here do not have."""
    if part.stored.dtype not in _TYPES:
        raise ConfigError(
            f"{source}: {part.name} is {part.stored.dtype}, and only BF16, F16 and F32 are covered: take the "
            "folder of the weights as they were trained"
        )
    in_layer = part.name.startswith("model.layers.")
    matrix = len(part.stored.shape) == 2
    known = _KEPT.fullmatch(part.name) is not None and 1 <= len(part.stored.shape) <= 2
    if not known or part.linear != (in_layer and matrix):
        raise ConfigError(f"{source} holds {part.name}, which no model of a family that is covered has")


def _check_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size + _SMALL:
        raise ConfigError(
            f"{gib(size + _SMALL)} are needed in {folder}, and {gib(free)} are free: make room, or name "
            "another folder"
        )
