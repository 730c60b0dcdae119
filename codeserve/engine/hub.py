"""Models by Hugging Face id: the folder they lie in on this machine, fetched when they are not there yet."""

from __future__ import annotations

import os
from pathlib import Path

import attrs

from codeserve.engine.draft_model import check_draft
from codeserve.engine.folder import check_folder
from codeserve.engine.preset import Preset
from codeserve.errors import ConfigError

__all__ = ["cached_folder", "fetch_model", "fetch_preset"]

# What the engine and the tokenizer read; the same weights in other formats stay away.
_FILES = ["*.json", "*.safetensors", "*.model", "LICENSE*", "NOTICE*", "USE_POLICY*"]
_HEAD_FILES = [*_FILES, "pytorch_model*.bin"]  # heads are small, and many of them are there in no other form


def cached_folder(model: str) -> Path | None:
    """Where a Hugging Face id's latest snapshot lies in the cache of `huggingface_hub`, without importing it.

    Layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
    """
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface").expanduser()
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    repository = cache / f"models--{model.replace('/', '--')}"
    try:
        revision = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return repository / "snapshots" / revision


def fetch_model(model: Path | str, *, weights: bool = True) -> Path:
    """The model's folder, downloaded on first use (gigabytes; blocks until done).

    ``weights`` is False for a folder that has none, because they are made up.
    Raises: ConfigError when it cannot be had, or the folder is not whole.
    """
    folder = model if isinstance(model, Path) else _fetch(model, _FILES)
    check_folder(folder, weights=weights)
    return folder


def fetch_preset(preset: Preset) -> Preset:
    """The preset with folders for its model, and for the one that drafts for it where there is one.

    Blocks until they are here. Raises: ConfigError, as `fetch_model` does.
    """
    weights = preset.load_format != "dummy"
    speculation = preset.speculation
    if speculation is not None and (draft := speculation.model) is not None:
        files = _FILES if speculation.method == "draft_model" else _HEAD_FILES
        folder = draft if isinstance(draft, Path) else _fetch(draft, files)
        check_draft(speculation, folder, weights=weights)
        speculation = attrs.evolve(speculation, model=folder)
    return attrs.evolve(preset, model=fetch_model(preset.model, weights=weights), speculation=speculation)


def _fetch(model: str, files: list[str]) -> Path:
    """Download what of a model is not here yet."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import (
            GatedRepoError,
            HFValidationError,
            RepositoryNotFoundError,
        )
    except ImportError as error:
        raise ConfigError(
            f"{model} is a Hugging Face id, and huggingface_hub is not installed: "
            "pip install huggingface_hub, or pass a model folder"
        ) from error
    try:
        return Path(snapshot_download(model, allow_patterns=files))
    except GatedRepoError as error:
        raise ConfigError(
            f"{model} asks for its licence to be accepted: do so on huggingface.co and set HF_TOKEN"
        ) from error
    except RepositoryNotFoundError as error:
        raise ConfigError(f"there is no model {model} on Hugging Face; check the id") from error
    except HFValidationError as error:
        raise ConfigError(
            f"{model} is neither a model folder nor a Hugging Face id; check the name"
        ) from error
    except Exception as error:  # no network, no room, or what the HTTP library of the day raises
        raise ConfigError(
            f"{model} is not on this machine and cannot be fetched ({type(error).__name__}): "
            "copy its folder here and pass it as the model"
        ) from error
