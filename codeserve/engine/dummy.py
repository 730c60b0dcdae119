"""A model folder without weights, for `load_format = "dummy"`: the engine makes some up.

What such a model writes is noise. Its latency, memory and throughput are the real model's: they depend on the
shapes alone.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from codeserve.engine.int8 import INT8_CONFIG, INT8_METHOD
from codeserve.engine.preset import Preset
from codeserve.errors import ConfigError

__all__ = ["made_up", "quantization_config"]

_MIN_POSITIONS = 16_384
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


def quantization_config(method: str | None) -> dict[str, Any] | None:
    """What a checkpoint that was quantised in advance says of itself, with its method's usual choices."""
    if method in ("awq", "awq_marlin"):
        return {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
    if method in ("gptq", "gptq_marlin"):
        return {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
    if method == INT8_METHOD:
        return dict(INT8_CONFIG)
    return None


def made_up(preset: Preset, folder: Path, tokenizer: Path) -> Path:
    """Write config.json of the preset's shape into ``folder``, and the tokenizer of the folder ``tokenizer``.

    Raises: ConfigError when the preset has no shape or the tokenizer is one of another vocabulary.
    """
    if preset.shape is None:
        raise ConfigError(f"the preset {preset.name} has no [shape], which dummy weights are made from")
    if preset.fim != "codellama-spm":
        raise ConfigError(
            f"dummy weights need a tokenizer, and only CodeLlama's is bundled: {preset.name} has another"
        )
    config = preset.shape.config(max(_MIN_POSITIONS, preset.context_tokens))
    if (quantized := quantization_config(preset.quantization)) is not None:
        config["quantization_config"] = quantized
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in _TOKENIZER_FILES:
        if (tokenizer / name).is_file():
            shutil.copyfile(tokenizer / name, folder / name)
    return folder
