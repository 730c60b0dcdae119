"""The `export` command: weights in the form that vLLM and `transformers` load as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from training.model import Llama
from training.quantise import QUANTIZATION_CONFIG, quantise

__all__ = ["export_int8", "save_model", "write_weights"]

SHARD_BYTES = 45_000_000  # hosts of repositories take files of up to 50 MB


def save_model(model: Llama, folder: Path, tokenizer: Path) -> None:
    """Write a model folder: bf16 weights, config and tokenizer."""
    tensors = {name: parameter.detach().to("cpu", torch.bfloat16) for name, parameter in model.named_parameters()}
    write_weights(folder, tensors, model.config.json(), tokenizer)


def export_int8(source: Path, folder: Path) -> int:
    """Write the INT8 form of a bf16 model folder; returns the bytes of its weights."""
    tensors: dict[str, Tensor] = {}
    for path in sorted(source.glob("model*.safetensors")):
        tensors |= load_file(path)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    small = quantise(tensors)
    write_weights(folder, small, config | {"quantization_config": QUANTIZATION_CONFIG}, source)
    return sum(tensor.nbytes for tensor in small.values())


def write_weights(
    folder: Path, tensors: dict[str, Tensor], config: dict[str, object], tokenizer: Path
) -> None:
    """Write a model folder of ready tensors, in shards of at most 45 MB, unless one tensor alone is larger."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("model*.safetensors*"):
        stale.unlink()
    shards = _shards(tensors)
    weight_map: dict[str, str] = {}
    for number, names in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors" if len(shards) > 1 else "model.safetensors"
        save_file({name: tensors[name].contiguous() for name in names}, folder / file, {"format": "pt"})
        weight_map |= dict.fromkeys(names, file)
    if len(shards) > 1:
        total = sum(tensor.nbytes for tensor in tensors.values())
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if (tokenizer / name).exists() and folder.resolve() != tokenizer.resolve():
            shutil.copyfile(tokenizer / name, folder / name)


def _shards(tensors: dict[str, Tensor]) -> list[list[str]]:
    """Names in as few groups as their order allows."""
    groups: list[list[str]] = [[]]
    size = 0
    for name in sorted(tensors):
        if groups[-1] and size + tensors[name].nbytes > SHARD_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(name)
        size += tensors[name].nbytes
    return groups
