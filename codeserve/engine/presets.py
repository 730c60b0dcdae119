"""Model presets: TOML files that say which model runs, how it is prompted and how the engine is set up.

They lie in ``models/presets`` beside a checkout and in ``codeserve/presets`` in a wheel; a preset's name is
its file's name. A field that is not known is refused, so that a typing mistake never passes unnoticed.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import cattrs
from cattrs.errors import AttributeValidationNote, BaseValidationError, ForbiddenExtraKeysError

from codeserve.engine.dummy import made_up
from codeserve.engine.folder import check_folder, folder_context_tokens, folder_fim, read_config
from codeserve.engine.int8 import is_int8
from codeserve.engine.preset import Preset, Speculation
from codeserve.errors import ConfigError

__all__ = ["Preset", "Speculation", "load_presets", "presets_folder", "read_preset", "resolve_model"]

_RELATIVE = ("./", "../", "/", "~")


def presets_folder() -> Path:
    """The folder the presets lie in: the checkout's, or the wheel's copy of it."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / "models" / "presets"
    return checkout if checkout.is_dir() else package / "presets"


def _model_hook(value: object, _: object) -> Path | str:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value:
        raise ValueError("must be a folder or a Hugging Face id")
    return value


def _strict_hook(value: object, kind: type[Any]) -> Any:
    """TOML has types: a number in quotes is a mistake, not something to convert."""
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"must be of type {kind.__name__}")
    return value


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook(Path | str, _model_hook)
    converter.register_structure_hook(
        Path | str | None, lambda value, kind: None if value is None else _model_hook(value, kind)
    )
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, _strict_hook)
    return converter


_CONVERTER = _converter()


def _faults(error: BaseException, path: tuple[str, ...] = ()) -> Iterator[tuple[str, BaseException]]:
    """What is wrong, each with the dotted key it concerns ("" for the file as a whole)."""
    if not isinstance(error, BaseExceptionGroup):
        yield ".".join(path), error
        return
    for inner in error.exceptions:
        notes = getattr(inner, "__notes__", ())
        names = [note.name for note in notes if isinstance(note, AttributeValidationNote)]
        yield from _faults(inner, (*path, *names[:1]))


def _explain(error: BaseValidationError) -> str:
    """The first thing wrong, in words."""
    # A mistyped key also makes a field missing: the mistyped one is what the reader looks for.
    key, fault = min(_faults(error), key=lambda item: not isinstance(item[1], ForbiddenExtraKeysError))
    if isinstance(fault, ForbiddenExtraKeysError):
        known = sorted(field.name for field in attrs.fields(fault.cl) if field.name != "name")
        return f"unknown key {sorted(fault.extra_fields)[0]!r}; known are {', '.join(known)}"
    if isinstance(fault, KeyError):
        return f"{key} is missing"
    if isinstance(fault, TypeError | AttributeError):  # cattrs takes a table to be one
        return f"{key} is of the wrong type"
    reason = str(fault).replace("literal typing.Literal", "")
    return f"{key}: {reason}" if key else reason


def read_preset(path: Path) -> Preset:
    """Read one preset. A model that begins with ``./``, ``../``, ``/`` or ``~`` is a folder, from the file's.

    Raises: ConfigError with the file and the key that is wrong.
    """
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"preset {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"preset {path} is not valid TOML: {error}") from error
    if "name" in values:
        raise ConfigError(f"preset {path}: unknown key 'name'; a preset's name is its file's name")
    for table in (values, values.get("speculation")):
        if isinstance(table, dict):
            _resolve_folder(table, path)
    try:
        return _CONVERTER.structure({**values, "name": path.stem}, Preset)
    except BaseValidationError as error:
        raise ConfigError(f"preset {path}: {_explain(error)}") from error


def _resolve_folder(table: dict[str, Any], path: Path) -> None:
    """Make the ``model`` of a table in the file ``path`` a folder where it is written like one."""
    model = table.get("model")
    if isinstance(model, str) and model.startswith(_RELATIVE):
        try:
            table["model"] = (path.parent / Path(model).expanduser()).resolve()
        except RuntimeError as error:
            raise ConfigError(f"preset {path}: model: the home folder in {model} is not known") from error


def load_presets(folder: Path | None = None) -> dict[str, Preset]:
    """All presets by name. Raises: ConfigError when one of them is wrong or there are none."""
    folder = folder or presets_folder()
    presets = {path.stem: read_preset(path) for path in sorted(folder.glob("*.toml"))}
    if not presets:
        raise ConfigError(f"no presets in {folder}: this installation is not whole, install codeserve again")
    return presets


def resolve_model(
    name_or_path: str,
    *,
    weights: Path | None = None,
    presets: Mapping[str, Preset] | None = None,
    dummy: Path | None = None,
) -> tuple[Preset, Path | str]:
    """Find a model by preset name or preset file, or make a preset for a model folder.

    ``weights`` is a folder to use in place of the preset's own model. Returns the preset and its model: a
    folder that was checked to be whole, or a Hugging Face id (`codeserve.engine.hub` fetches it).
    With ``dummy``, a folder of presets' made-up models, the engine makes the weights up, and none are needed.
    Raises: ConfigError, one line that says what to do.
    """
    presets = load_presets() if presets is None else presets
    preset = presets.get(name_or_path) or _own_preset(name_or_path)
    if preset is None:
        folder = _folder_named(name_or_path)
        if folder is None:
            raise ConfigError(_unknown(name_or_path, presets))
        preset = _folder_preset(folder)
    elif preset.refused:
        raise ConfigError(f"{preset.name} is not for code completion: {preset.refused}")
    elif weights is not None:
        preset = attrs.evolve(preset, model=weights.expanduser().resolve())
    if dummy is not None:
        preset = attrs.evolve(preset, load_format="dummy")
        if not isinstance(preset.model, Path):
            tokenizer = presets["mini-codellama"].model
            preset = attrs.evolve(preset, model=made_up(preset, dummy / preset.name, Path(tokenizer)))
    if isinstance(preset.model, Path):
        check_folder(preset.model, weights=preset.load_format != "dummy")
        if preset.weights == "quantize" and not is_int8(read_config(preset.model)):
            raise ConfigError(
                f"{preset.model} is not INT8, which {preset.name} is served in: move it elsewhere, and "
                "make it INT8 with `codeserve quantize`"
            )
    return preset, preset.model


def _own_preset(name: str) -> Preset | None:
    """A preset of the user's own, in a TOML file of any folder."""
    path = Path(name)
    return read_preset(path) if path.suffix == ".toml" and path.is_file() else None


def _folder_named(name: str) -> Path | None:
    try:
        folder = Path(name).expanduser()
        return folder.resolve() if name and folder.is_dir() else None
    except (OSError, RuntimeError):  # too long for a name, not ours to look into, no such user's home
        return None


def _folder_preset(folder: Path) -> Preset:
    check_folder(folder)
    context = min(4096, folder_context_tokens(folder))
    try:
        return Preset(name=folder.name, model=folder, fim=folder_fim(folder), context_tokens=context)
    except ValueError as error:
        raise ConfigError(
            f"{folder}: a context of {context} tokens is too short for code completion; use another model"
        ) from error


def _unknown(name: str, presets: Mapping[str, Preset]) -> str:
    if "/" in name or name.startswith((".", "~")):
        return (
            f"{name} is not a folder; pass a model folder (config.json, tokenizer.json, *.safetensors) "
            f"or one of the presets: {', '.join(sorted(presets))}"
        )
    close = difflib.get_close_matches(name, presets, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(sorted(presets))}"
    return f"unknown model {name!r}: {hint}"
