"""Which model the settings ask for, with what they change in its preset."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import attrs

from codeserve.engine.drafting import AUTO_MAX_BATCH, AUTO_MIN_ACCEPTED
from codeserve.engine.environment import cache_folder
from codeserve.engine.levers import with_profiles
from codeserve.engine.presets import Preset, Speculation, load_presets, resolve_model
from codeserve.errors import ConfigError
from codeserve.settings import ServerSettings

__all__ = ["automatic", "choose_model", "how_to_quantize", "local_weights"]


def local_weights(preset: Preset, models_dir: Path | None) -> Path | None:
    """The preset's weights in the user's own folder of models: under its name, or the last part of its id.

    Where they have to be made out of the model's, which have that id, under the preset's name alone.
    """
    names = [preset.name] if preset.weights == "quantize" else [preset.name, _last(preset)]
    return _own_folder(names, models_dir)


def _last(preset: Preset) -> str:
    return PurePosixPath(str(preset.model)).name


def _own_folder(names: Sequence[str], models_dir: Path | None) -> Path | None:
    if models_dir is None:
        return None
    folders = [models_dir.expanduser() / name for name in names]
    return next((folder for folder in folders if folder.is_dir()), None)


def how_to_quantize(preset: Preset, models_dir: Path | None, *, own: bool = False) -> str:
    """What to run for a preset whose weights have to be made; ``own`` is True for one in a user's file."""
    source = _own_folder([_last(preset), preset.name.removesuffix("-int8")], models_dir)
    folder = models_dir or Path("~/models")
    out = folder / preset.name
    command = f"codeserve quantize {_word(source or preset.model)} {_word(out)}"
    if own:
        then = f"set model = '{out}' in the preset"
    elif models_dir is None:
        then = f"serve with --models-dir {_word(folder)}"
    else:
        then = "serve again"
    return f"the INT8 weights of {preset.name} are not here: make them with `{command}`, then {then}"


def _word(path: Path | str) -> str:
    """A path as a shell takes it; the home folder's ``~`` stays."""
    text = str(path)
    return text if text.startswith("~/") and shlex.quote(text[2:]) == text[2:] else shlex.quote(text)


def automatic(speculation: Speculation) -> Speculation:
    """The same, turned off while it costs more than it brings; limits of its own stay.

    Raises: ConfigError for a method that cannot be turned off for a while.
    """
    if speculation.method == "suffix":
        raise ConfigError(
            'speculation "auto" pauses drafting, which the method suffix cannot: use "on", or another method'
        )
    return attrs.evolve(
        speculation,
        max_batch=speculation.max_batch or AUTO_MAX_BATCH,
        min_accepted=speculation.min_accepted or AUTO_MIN_ACCEPTED,
    )


def _speculation(own: Speculation | None, wanted: str) -> Speculation | None:
    """A preset's own speculation, none, or one that is turned off while it costs more than it brings."""
    if wanted == "off":
        return None
    if wanted == "auto":
        return automatic(own or Speculation(method="ngram"))
    return own


def choose_model(settings: ServerSettings) -> tuple[Preset, Path | str]:
    """The preset with the settings applied, and its model: a whole folder, or an id to be fetched.

    Raises: ConfigError, one line that says what to do.
    """
    presets = load_presets()
    named = presets.get(settings.model)
    weights = local_weights(named, settings.models_dir) if named is not None else None
    dummy = cache_folder() / "dummy" if settings.load_format == "dummy" else None
    preset, model = resolve_model(settings.model, weights=weights, presets=presets, dummy=dummy)
    if preset.weights == "quantize" and isinstance(model, str):
        raise ConfigError(how_to_quantize(preset, settings.models_dir, own=named is None))
    preset = attrs.evolve(preset, speculation=_speculation(preset.speculation, settings.speculation))
    if settings.snippet_tokens is not None:
        preset = attrs.evolve(preset, snippet_tokens=settings.snippet_tokens)
    if settings.min_confidence is not None:
        preset = attrs.evolve(preset, min_confidence=settings.min_confidence)
    if settings.profile_dir is not None:
        engine_args = with_profiles(preset.engine_args, str(settings.profile_dir.expanduser().resolve()))
        preset = attrs.evolve(preset, engine_args=engine_args)
    if settings.context_tokens is not None:
        try:
            preset = attrs.evolve(preset, context_tokens=settings.context_tokens)
        except ValueError as exc:
            raise ConfigError(
                f"context_tokens {settings.context_tokens} does not do for {preset.name}: {exc}"
            ) from None
    return preset, model
