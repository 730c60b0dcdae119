"""Model folders that are whole but tiny, for tests to damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["CODELLAMA", "make_model", "write_json", "write_weights"]

CODELLAMA = ("▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>")


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def write_weights(path: Path, data: int = 16, header: dict[str, Any] | None = None) -> int:
    """A safetensors file with ``data`` bytes behind its header. Returns its size in bytes."""
    tensor = {"dtype": "U8", "shape": [data], "data_offsets": [0, data]}
    text = json.dumps({"__metadata__": {"format": "pt"}, "w": tensor} if header is None else header)
    content = len(text).to_bytes(8, "little") + text.encode() + bytes(data)
    path.write_bytes(content)
    return len(content)


def make_model(folder: Path, *, pieces: tuple[str, ...] = CODELLAMA, **config: Any) -> Path:
    """A model in two shards with an index."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", {"architectures": ["LlamaForCausalLM"], "vocab_size": 32016} | config)
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    write_json(folder / "tokenizer.json", {"added_tokens": [], "model": {"vocab": vocabulary}})
    write_weights(folder / "a.safetensors")
    write_weights(folder / "b.safetensors", 32)
    weight_map = {"x": "a.safetensors", "y": "b.safetensors", "z": "a.safetensors"}
    write_json(folder / "model.safetensors.index.json", {"weight_map": weight_map})
    return folder
