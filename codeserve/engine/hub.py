"""Models by Hugging Face id: the folder they lie in on this machine, fetched when they are not there yet."""

from __future__ import annotations

from pathlib import Path

from codeserve.engine.folder import check_folder
from codeserve.errors import ConfigError

__all__ = ["fetch_model"]

# What the engine and the tokenizer read; the same weights in other formats stay away.
_FILES = ["*.json", "*.safetensors", "*.model", "LICENSE*", "NOTICE*", "USE_POLICY*"]


def fetch_model(model: Path | str, *, weights: bool = True) -> Path:
    """The model's folder, downloaded on first use (gigabytes; blocks until done).

    ``weights`` is False for a folder that has none, because they are made up.
    Raises: ConfigError when it cannot be had, or the folder is not whole.
    """
    if isinstance(model, Path):
        check_folder(model, weights=weights)
        return model
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
        folder = Path(snapshot_download(model, allow_patterns=_FILES))
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
    check_folder(folder)
    return folder
