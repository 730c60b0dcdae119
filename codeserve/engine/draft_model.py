"""The model that drafts for another: a small one with the same vocabulary, or a head of the EAGLE family."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from codeserve.engine.folder import check_folder, read_config, weight_bytes
from codeserve.engine.memory import Need, need_of
from codeserve.engine.preset import Preset, Speculation
from codeserve.errors import ConfigError

__all__ = ["check_draft", "draft_need"]


def check_draft(speculation: Speculation, folder: Path, *, weights: bool = True) -> None:
    """Check that the folder of a model that drafts is whole.

    ``weights`` is False where they are made up. A head has no tokenizer of its own, and other tensors than
    the family that its config names. Raises: ConfigError with what is wrong and what to do.
    """
    if not folder.is_dir():
        raise ConfigError(
            f"the folder {folder} of the model that drafts does not exist: set speculation's model to one "
            'that is here, or speculation = "off"'
        )
    if speculation.method == "draft_model":
        check_folder(folder, weights=weights)
        return
    read_config(folder)
    if weights:
        weight_bytes(folder)


def draft_need(preset: Preset, config: Mapping[str, Any], weights: int | None) -> Need | None:
    """What the model that drafts for ``preset`` needs beside it, by its config.json and its weights' bytes.

    It has a KV cache of its own, for the same tokens and of the same type, and is spread over the same GPUs.
    """
    alone = attrs.evolve(preset, shape=None, quantization=None, speculation=None)
    need = need_of(alone, config=config, weights=weights)
    if need is None and weights is not None:
        return Need(weights, 0, preset.context_tokens)
    return need
