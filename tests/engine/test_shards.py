"""Weights files that are written piece by piece."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from codeserve.engine.shards import TensorFile, shard_names, split
from codeserve.engine.weights import Tensor, read_weights_file

TENSORS = {"b": Tensor("I8", (3, 5)), "a": Tensor("BF16", (3, 1)), "c": Tensor("F16", (4,))}


def test_pieces_come_back(tmp_path: Path) -> None:
    """Pieces written in turns are what the safetensors library reads, wide types at even places."""
    path = tmp_path / "x.safetensors"
    with TensorFile(path, TENSORS) as file:
        for row in range(3):
            file.append("b", bytes(range(5 * row, 5 * row + 5)))
            file.append("a", memoryview(b"\x80\x3f"))  # 1.0
        file.append("c", b"\x00\x3c" * 4)  # 1.0
    found = load_file(path)
    assert found["b"].tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14]]
    assert torch.equal(found["a"], torch.ones(3, 1, dtype=torch.bfloat16))
    assert torch.equal(found["c"], torch.ones(4, dtype=torch.float16))
    assert read_weights_file(path).tensors == TENSORS
    assert int.from_bytes(path.read_bytes()[:8], "little") % 8 == 0


def test_wrong_number_of_bytes(tmp_path: Path) -> None:
    """More or fewer bytes than a shape has are a mistake of the caller's, and told."""
    with (
        pytest.raises(ValueError, match="b gets more bytes"),
        TensorFile(tmp_path / "more", TENSORS) as file,
    ):
        file.append("b", bytes(16))
    with (
        pytest.raises(ValueError, match="got fewer bytes"),
        TensorFile(tmp_path / "fewer", TENSORS) as file,
    ):
        file.append("b", bytes(15))


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    """A file that is there stays as it is."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        TensorFile(path, TENSORS)
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("limit", "groups"),
    [(100, [["a", "b", "c"]]), (8, [["a", "b"], ["c"]]), (3, [["a"], ["b"], ["c"]])],
)
def test_split(limit: int, groups: list[list[str]]) -> None:
    """Names in order, in groups up to the limit; what is larger alone has a group of its own."""
    assert split({"b": 5, "c": 6, "a": 3}, limit) == groups


def test_names() -> None:
    """One file has the plain name, several are counted."""
    assert shard_names(1) == ["model.safetensors"]
    assert shard_names(2) == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
