"""A small corpus of made-up packages, as shards and as tokens."""

import json
from pathlib import Path

import pytest
import torch

from training.corpus import Corpus, tokenise
from training.data.fetch import file_sha256
from training.data.shards import Document, ShardWriter, shard_paths

torch.set_num_threads(1)  # for small tensors others cost more than they bring

MODEL = Path(__file__).parents[2] / "models" / "mini-codellama"


def source(package: int, file: int) -> str:
    """A file of about 40 lines; each differs from the others."""
    functions = [
        f"def compute_{name}_{package}(values, factor={file}):\n"
        f'    """Compute the {name} of values, times a factor."""\n'
        f"    total = sum(value * factor for value in values)\n"
        f"\n"
        f"    if total > {package * 10 + file}:\n"
        f"        return [total, helper_{name}(values[0], {{'key': total}})]\n"
        f"    return None\n\n\n"
        for name in ("mean", "spread", "größe", "last")
    ]
    return f'"""File {file} of package {package}."""\n\nimport os\n\n\n' + "".join(functions)


def write_manifest(folder: Path) -> None:
    """State the shards of a folder, as the data command does."""
    shards = {path.name: file_sha256(path) for path in shard_paths(folder)}
    (folder / "manifest.json").write_text(json.dumps({"shards": shards}), encoding="utf-8")


@pytest.fixture(scope="session")
def tokenizer_folder() -> Path:
    return MODEL


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of three packages for training and one for validation."""
    folder = tmp_path_factory.mktemp("data")
    for name, packages in (("train", range(3)), ("validation", range(3, 4))):
        writer = ShardWriter(folder, name, 6000)
        for package in packages:
            for file in range(6):
                writer.add(
                    Document(f"pypi:p{package}", f"p{package}/f{file}.py", "python", source(package, file))
                )
        writer.flush()
    write_manifest(folder)
    return folder


@pytest.fixture(scope="session")
def corpus(data: Path) -> Corpus:
    return tokenise(data, data / "tokenised", MODEL, 1, lambda text: None)
