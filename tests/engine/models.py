"""Model folders for tests: tiny, and broken in one way each."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from codeserve.completion.tokens import Tokenizer

MINI = Path(__file__).parents[2] / "models" / "mini-codellama"

CONFIG = {"architectures": ["LlamaForCausalLM"], "vocab_size": 32016, "max_position_embeddings": 2048}
CODELLAMA_PIECES = ("▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>")


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def safetensors(path: Path, size: int = 64, header: dict[str, Any] | None = None, *, name: str = "w") -> int:
    """A weights file with one tensor of ``size`` bytes, or with another header. Returns the file's size."""
    tensor = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
    text = json.dumps({name: tensor} if header is None else header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(size))
    return path.stat().st_size


def tokenizer(path: Path, pieces: tuple[str, ...] = CODELLAMA_PIECES) -> None:
    """A tokenizer.json with these added tokens; no vocabulary."""
    added = [{"id": index, "content": piece} for index, piece in enumerate(pieces)]
    path.write_text(json.dumps({"added_tokens": added, "model": {"vocab": {}}}), encoding="utf-8")


def model(folder: Path, **config: Any) -> Path:
    """A whole model folder, with one weights file; ``config`` goes into config.json."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    tokenizer(folder / "tokenizer.json")
    safetensors(folder / "model.safetensors")
    return folder


def sharded(folder: Path, **config: Any) -> Path:
    """A whole model folder with two weights files and their index; ``config`` goes into config.json."""
    model(folder, **config)
    (folder / "model.safetensors").unlink()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for number, name in enumerate(names):
        safetensors(folder / name, name=f"w{number}")
    index = {"weight_map": {f"w{number}": name for number, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def repetitive_code(name: str) -> list[int]:
    """A prompt of a few hundred tokens, code that repeats itself and is to be gone on with."""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    body = "".join(f"        self.{name}_{word} = None\n        self.old_{word} = None\n" for word in words)
    head = f"class {name.title()}:\n    def __init__(self):\n{body}\n    def reset(self):\n"
    text = f"{head}        self.{name}_alpha = None\n        self.old_"
    # CodeLlama's order: BOS, PRE, SUF, an empty suffix, MID, the prefix.
    return [1, 32007, 32008, 32009, *Tokenizer.load(MINI).encode(text)]
