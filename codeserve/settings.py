"""The server's settings: a TOML file, then ``CODESERVE_*`` variables, then flags; the later wins.

The file is the one named by ``--config``, else by ``CODESERVE_CONFIG``, else ``codeserve.toml`` in the
working directory, else ``codeserve/codeserve.toml`` in the user's configuration directory. Its keys are the
field names of `ServerSettings`, at the top level; paths in it are relative to it. Each variable is a field
name in capitals.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import attrs
import typed_settings as ts
from typed_settings.converters import TSConverter
from typed_settings.exceptions import TsError
from typed_settings.loaders import DictLoader, EnvLoader, FileLoader, Loader, TomlFormat
from typed_settings.types import LoadedSettings, OptionList, SettingsClass

from codeserve.errors import ConfigError
from codeserve.protocol import MAX_FRAME_BYTES, MIN_CONFIDENCE

__all__ = ["ServerSettings", "find_config", "is_loopback", "load_settings", "mistyped_variables"]

_PREFIX = "CODESERVE_"
# Variables that are no fields: where the file is, and the address for the commands that are clients.
_OTHER_VARIABLES = ("CONFIG", "URL")


def _between(low: float, high: float) -> Callable[[object, attrs.Attribute[Any], Any], None]:
    def check(_: object, field: attrs.Attribute[Any], value: float | None) -> None:
        if value is not None and not low <= value <= high:
            raise ValueError(f"must be from {low} to {high}")

    return check


def _some(_: object, field: attrs.Attribute[str], value: str) -> None:
    if not value.strip():
        raise ValueError("must not be empty")


@attrs.frozen
class ServerSettings:
    """What `codeserve serve` can be told. Times are seconds, sizes bytes."""

    host: str = attrs.field(default="127.0.0.1", validator=_some)
    port: int = attrs.field(default=8760, validator=_between(0, 65535))  # 0: any free one
    model: str = attrs.field(default="mini-codellama", validator=_some)  # a preset's name, or a model folder
    models_dir: Path | None = None  # where presets look for their weights
    context_tokens: int | None = attrs.field(
        default=None, validator=_between(256, 1 << 20)
    )  # None: the preset's
    # on: as the preset says; auto: n-grams where it says nothing, and only while it pays
    speculation: Literal["on", "off", "auto"] = "on"
    load_format: Literal["auto", "dummy"] = "auto"  # dummy: weights made up, to measure speed without any
    snippet_tokens: int | None = attrs.field(
        default=None, validator=_between(0, 1 << 20)
    )  # None: the preset's
    min_confidence: float | None = attrs.field(
        default=None, validator=_between(MIN_CONFIDENCE, 0)
    )  # None: the preset's; see `codeserve.engine.preset.Preset`

    profile_dir: Path | None = None  # where `codeserve admin profile` writes

    token_file: Path | None = None  # see server/auth.py for its lines
    token: str | None = attrs.field(default=None, repr=False)  # from CODESERVE_TOKEN and nowhere else
    allowed_origins: list[str] = attrs.field(factory=list)  # web pages that may connect; none by default

    max_connections: int = attrs.field(default=1024, validator=_between(1, 100_000))
    max_pending: int = attrs.field(
        default=512, validator=_between(1, 100_000)
    )  # sequences, running or queued; fewer when they would be late
    max_pending_per_connection: int = attrs.field(default=16, validator=_between(1, 10_000))
    max_frame_bytes: int = attrs.field(default=MAX_FRAME_BYTES, validator=_between(1024, 64 << 20))

    hello_seconds: float = attrs.field(
        default=10.0, validator=_between(0.01, 600)
    )  # time a client has to say hello
    send_seconds: float = attrs.field(
        default=10.0, validator=_between(0.01, 600)
    )  # a client that takes nothing
    ping_seconds: float = attrs.field(
        default=20.0, validator=_between(0.01, 600)
    )  # … or answers no ping is dropped
    drain_seconds: float = attrs.field(
        default=5.0, validator=_between(0, 600)
    )  # for live requests on shutdown

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "console", "json"] = "auto"  # auto: console on a terminal, else json


_TYPES = get_type_hints(ServerSettings)
_FIELDS = attrs.fields_dict(ServerSettings)
_CONVERTER = TSConverter(strlist_sep=",")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to ``host``."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return False


def find_config(config: Path | None) -> Path | None:
    """The settings file to read, or None. Raises: ConfigError when one that was named is not there."""
    named = os.environ.get(f"{_PREFIX}CONFIG")
    for path, source in ((config, "--config"), (Path(named) if named else None, f"{_PREFIX}CONFIG")):
        if path is not None:
            if not path.expanduser().is_file():
                raise ConfigError(f"{source}: no file at {path}")
            return path.expanduser().resolve()
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    for path in (Path("codeserve.toml"), home / "codeserve" / "codeserve.toml"):
        if path.is_file():
            return path.resolve()
    return None


def _expected(kind: Any) -> str:
    """What a value of the type ``kind`` is called in an error message."""
    if get_origin(kind) is Literal:
        return "must be one of " + ", ".join(get_args(kind))
    if get_origin(kind) is list:
        return "must be a list of texts"
    for part in (kind, *get_args(kind)):
        if part in _NAMES:
            return f"must be {_NAMES[part]}"
    return "has the wrong type"


_NAMES: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
}


_ALSO: dict[Any, Any] = {float: (int, float), Path: (str, Path)}


def _fits(kind: Any, value: object, texts: bool) -> bool:
    """Whether ``value`` may be converted to ``kind``; with ``texts`` from a text too, as variables are."""
    if isinstance(value, str) and texts:
        return True
    kinds = get_args(kind) if get_origin(kind) is not Literal else (str,)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    parts = kinds or (kind,)
    if isinstance(value, bool):  # an int to Python, not to the reader
        return bool in parts
    return any(isinstance(value, _ALSO.get(part, part)) for part in parts)


class _Checked:
    """A loader whose values are checked one by one, so that an error names its source and its key."""

    def __init__(self, loader: Loader, name: Callable[[str], str], *, texts: bool) -> None:
        self._loader = loader
        self._name = name
        self._texts = texts

    def __call__(self, settings_cls: SettingsClass, options: OptionList) -> Iterator[LoadedSettings]:
        loaded = self._loader(settings_cls, options)
        for layer in [loaded] if isinstance(loaded, LoadedSettings) else loaded:
            # an empty variable and a flag that was not given say nothing
            unset = ("", None) if self._texts else (None,)
            values = {key: value for key, value in layer.settings.items() if value not in unset}
            for key, value in values.items():
                self._check(key, value)
            yield LoadedSettings(values, layer.meta)

    def _check(self, key: str, value: Any) -> None:
        kind = _TYPES[key]
        try:
            if not _fits(kind, value, self._texts):
                raise TypeError
            converted = _CONVERTER.structure(value, kind)
        except (TypeError, ValueError):
            raise ConfigError(f"{self._name(key)} {_expected(kind)}") from None
        validator = _FIELDS[key].validator
        if validator is not None:
            try:
                validator(None, _FIELDS[key], converted)
            except ValueError as exc:
                raise ConfigError(f"{self._name(key)} {exc}") from None


class _File(TomlFormat):
    """The TOML file; refuses what it does not know, and secrets."""

    def __call__(self, path: Path, settings_cls: SettingsClass, options: OptionList) -> dict[str, Any]:
        values = super().__call__(path, settings_cls, options)
        values = {key.replace("-", "_"): value for key, value in values.items()}
        for key in values:
            if key == "token":
                raise ConfigError(
                    f"{path}: a token does not belong in this file: put it into one with mode 0600 "
                    f"and set token_file, or set {_PREFIX}TOKEN"
                )
            _known(key, str(path))
        return values


def _known(key: str, source: str) -> None:
    if key not in _FIELDS:
        known = ", ".join(name for name in _FIELDS if name != "token")
        raise ConfigError(f"{source}: unknown key {key!r}; known: {known}")


def mistyped_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """A line for each variable that looks like a setting and is none, with the nearest that is."""
    known = [*(name.upper() for name in _FIELDS), *_OTHER_VARIABLES]
    found = sorted(name for name in environ if name.startswith(_PREFIX))
    lines = []
    for name in found:
        if (key := name.removeprefix(_PREFIX)) not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = (
                f"did you mean {_PREFIX}{near[0]}?" if near else "docs/settings.md lists those that there are"
            )
            lines.append(f"{name} is no setting and does nothing: {hint}")
    return lines


def load_settings(
    config: Path | None = None, overrides: Mapping[str, object] | None = None
) -> ServerSettings:
    """Read the settings. ``overrides`` are the flags by field name; None means not given.

    Raises: ConfigError, one line that names the file, variable or flag and what is wrong with it.
    """
    flags = dict(overrides or {})
    for key in flags:
        _known(key, "flags")
    if flags.get("token") is not None:
        raise ConfigError(f"a token is never a flag: use --token-file or {_PREFIX}TOKEN")
    loaders: list[Loader] = []
    path = find_config(config)
    if path is not None:
        files = FileLoader({"*": _File(section=None)}, [path])
        loaders.append(_Checked(files, lambda key: f"{path}: {key}", texts=False))
    env = EnvLoader(_PREFIX)
    loaders.append(_Checked(env, lambda key: f"{_PREFIX}{key.upper()}", texts=True))
    loaders.append(_Checked(DictLoader(flags), lambda key: f"--{key.replace('_', '-')}", texts=True))
    try:
        return ts.load_settings(ServerSettings, loaders, converter=_CONVERTER)
    except (TsError, OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: {' '.join(str(exc).split())}") from None
