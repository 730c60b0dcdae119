"""Tiny models with real weights, in the families that can be made INT8."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from codeserve.engine.folder import read_config

from .models import MINI, write_json

TINY: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "vocab_size": 32016,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "torch_dtype": "float16",
}

_SHAPES = {
    "self_attn.q_proj.weight": (64, 64),
    "self_attn.k_proj.weight": (32, 64),
    "self_attn.v_proj.weight": (32, 64),
    "self_attn.o_proj.weight": (64, 64),
    "mlp.gate_proj.weight": (96, 64),
    "mlp.up_proj.weight": (96, 64),
    "mlp.down_proj.weight": (64, 96),
    "input_layernorm.weight": (64,),
    "post_attention_layernorm.weight": (64,),
}


def tensors(dtype: torch.dtype = torch.float16, **more: tuple[int, ...]) -> dict[str, torch.Tensor]:
    """Random weights of `TINY`; ``more`` gives the first layer further tensors, ``__`` in place of dots."""
    names = {f"model.layers.{layer}.{name}": shape for layer in (0, 1) for name, shape in _SHAPES.items()}
    names |= {f"model.layers.0.{name.replace('__', '.')}": shape for name, shape in more.items()}
    names |= {
        "model.embed_tokens.weight": (32016, 64),
        "lm_head.weight": (32016, 64),
        "model.norm.weight": (64,),
    }
    source = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=source).to(dtype) for name, shape in names.items()}


def tiny(folder: Path, weights: dict[str, torch.Tensor] | None = None, **config: Any) -> Path:
    """A whole model folder in two files without an index; ``config`` goes into config.json."""
    folder.mkdir()
    weights = tensors() if weights is None else weights
    names = sorted(weights)
    for number, part in enumerate((names[::2], names[1::2])):
        save_file({name: weights[name] for name in part}, folder / f"model-{number}.safetensors")
    write_json(folder / "config.json", TINY | config)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(MINI / name, folder / name)
    return folder


def plain_mini(folder: Path, **config: Any) -> Path:
    """The bundled model with the fp32 values that its INT8 weights stand for; with ``tie_word_embeddings``
    False its embeddings are there twice, as in larger models.
    """
    bundled = stored(MINI)
    plain: dict[str, torch.Tensor] = {}
    for name, tensor in bundled.items():
        if not name.endswith("_scale"):
            scale = bundled.get(f"{name}_scale")
            plain[name] = tensor if scale is None else tensor.float() * scale.float()
    if config.get("tie_word_embeddings") is False:
        plain["lm_head.weight"] = plain["model.embed_tokens.weight"].clone()
    own = {name: value for name, value in read_config(MINI).items() if name != "quantization_config"}
    tiny(folder, plain)
    write_json(folder / "config.json", own | config)
    return folder


def stored(folder: Path) -> dict[str, torch.Tensor]:
    """All tensors of a model folder."""
    found: dict[str, torch.Tensor] = {}
    for path in sorted(folder.glob("*.safetensors")):
        found |= load_file(path)
    return found
