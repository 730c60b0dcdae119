"""Weights files that are written piece by piece, so that a model need not fit into memory.

The format's header comes first and gives each tensor's place, so all names, types and shapes must be known
before the first number (https://github.com/huggingface/safetensors, "Format").
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from codeserve.engine.weights import Tensor

__all__ = ["TensorFile", "shard_names", "split", "tensor_bytes", "write_index"]

_SIZES = {"I8": 1, "BF16": 2, "F16": 2}
_ALIGNMENT = 8


def tensor_bytes(tensor: Tensor) -> int:
    """What a tensor takes in a file."""
    return math.prod(tensor.shape) * _SIZES[tensor.dtype]


def split(sizes: Mapping[str, int], limit: int) -> list[list[str]]:
    """Names, sorted, in as few groups of at most ``limit`` bytes as their order allows; what is larger alone
    is a group of its own.
    """
    groups: list[list[str]] = [[]]
    total = 0
    for name in sorted(sizes):
        if groups[-1] and total + sizes[name] > limit:
            groups.append([])
            total = 0
        groups[-1].append(name)
        total += sizes[name]
    return groups


def shard_names(count: int) -> list[str]:
    """File names as Hugging Face's libraries expect them."""
    if count == 1:
        return ["model.safetensors"]
    return [f"model-{number:05}-of-{count:05}.safetensors" for number in range(1, count + 1)]


def write_index(folder: Path, weight_map: Mapping[str, str], size: int) -> None:
    """Write which tensor lies in which file; ``size`` is of all tensors, in bytes."""
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(weight_map.items()))}
    text = json.dumps(index, indent=1) + "\n"
    (folder / "model.safetensors.index.json").write_text(text, encoding="utf-8")


class TensorFile:
    """One new weights file with these tensors, each filled from its beginning on. On the disk when it is
    left.
    """

    def __init__(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        # The wide types first, so that each number lies at a multiple of its size.
        order = sorted(tensors, key=lambda name: (-_SIZES[tensors[name].dtype], name))
        header: dict[str, object] = {"__metadata__": {"format": "pt"}}
        places: dict[str, tuple[int, int]] = {}
        end = 0
        for name in order:
            begin, end = end, end + tensor_bytes(tensors[name])
            places[name] = (begin, end)
            header[name] = {
                "dtype": tensors[name].dtype,
                "shape": list(tensors[name].shape),
                "data_offsets": [begin, end],
            }
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % _ALIGNMENT)
        start = 8 + len(text)
        self._next = {name: start + begin for name, (begin, _) in places.items()}
        self._ends = {name: start + last for name, (_, last) in places.items()}
        self._file = path.open("xb")
        self._file.write(len(text).to_bytes(8, "little") + text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            if kind is None:
                self._check_full()
                self._file.flush()
                os.fsync(self._file.fileno())

    def append(self, name: str, data: bytes | memoryview) -> None:
        """The next bytes of a tensor. Raises: ValueError when they are more than its shape has."""
        if self._next[name] + len(data) > self._ends[name]:
            raise ValueError(f"{name} gets more bytes than its shape has")
        self._file.seek(self._next[name])
        self._file.write(data)
        self._next[name] += len(data)

    def _check_full(self) -> None:
        short: Sequence[str] = [name for name, end in self._ends.items() if self._next[name] != end]
        if short:
            raise ValueError(f"{short[0]} got fewer bytes than its shape has")
