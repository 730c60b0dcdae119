"""The user's settings: from ``initializationOptions`` and, live, from ``workspace/configuration``.

Each value is checked by itself: a bad one leaves the setting as it was and is named in a message, the others
count. The token is never one of them, since editors log initialize parameters and keep settings in plain
files (`codeserve_lsp.tokens`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import attrs

from codeserve.client import DEFAULT_URL
from codeserve.protocol import MAX_CANDIDATES, Mode
from codeserve_lsp.trigger import Triggers, check_triggers, make_triggers

__all__ = ["SECTION", "Prefetch", "Settings", "update"]

# The section of `workspace/configuration`, and the key that some editors wrap all settings in.
SECTION = "codeserve"

Prefetch = Literal["off", "accept", "show"]

Check = Callable[[object], None]

# In no address, path or name of a variable.
_ODD = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def _on_off(value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")


def _text(value: object) -> None:
    if not isinstance(value, str) or _ODD.search(value):
        raise ValueError("must be a text without control characters")


def _number(low: int, high: int) -> Check:
    def check(value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")

    return check


def _one_of(kind: Any) -> Check:
    def check(value: object) -> None:
        if value not in get_args(kind):
            raise ValueError(f"must be one of {', '.join(get_args(kind))}")

    return check


def _languages(value: object) -> None:
    if not isinstance(value, dict) or not all(isinstance(on, bool) for on in value.values()):
        raise ValueError('must give true or false for each language id, "*" for all others')


def _setting(default: Any, check: Check) -> Any:
    return attrs.field(default=default, metadata={"check": check})


@attrs.frozen
class Settings:
    """All settings with their defaults. In JSON the names are camel case: ``serverUrl``, ``budgetMs``."""

    enabled: bool = _setting(True, _on_off)
    server_url: str = _setting(DEFAULT_URL, _text)
    token_file: str = _setting("", _text)
    token_variable: str = _setting("CODESERVE_TOKEN", _text)
    ca_file: str = _setting("", _text)
    budget_ms: int = _setting(300, _number(50, 10_000))
    mode: Mode = attrs.field(default="auto", metadata={"check": _one_of(Mode)})
    # texts for a request made by hand; an automatic one gets one
    candidates: int = _setting(3, _number(1, MAX_CANDIDATES))
    # by language id, "*" for all others
    languages: dict[str, bool] = attrs.field(factory=dict, metadata={"check": _languages})
    # ask for what follows a completion when it is accepted, or already when it is shown
    prefetch: Prefetch = attrs.field(default="accept", metadata={"check": _one_of(Prefetch)})
    prewarm: bool = _setting(True, _on_off)
    # where to ask without being asked to
    triggers: Triggers = attrs.field(
        factory=Triggers, metadata={"check": check_triggers, "make": make_triggers}
    )
    # what goes along with the document: parts of other open files, declarations of imported ones
    open_files: bool = _setting(True, _on_off)
    imports: bool = _setting(True, _on_off)
    context_chars: int = _setting(6_000, _number(0, 100_000))
    # larger files stay on this machine, also as the document itself
    max_file_bytes: int = _setting(4_000_000, _number(1, 100_000_000))

    def language_on(self, language: str) -> bool:
        """Whether completions are wanted in a language."""
        return self.languages.get(language, self.languages.get("*", True))


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


_FIELDS = {_camel(field.name): field for field in attrs.fields(Settings)}


def update(settings: Settings, given: object, base: Settings) -> tuple[Settings, list[str]]:
    """The settings with what an editor sent, and one line for each value that was not taken.

    What an editor sends is all that its user has set: what is not in it, or null, is as in ``base``. A bad
    value leaves its setting as it is in ``settings``, those in force. Unknown names are passed over, since
    newer extensions may have more.
    """
    if given is None:
        return base, []
    if not isinstance(given, Mapping):
        return settings, ["they must be an object"]
    if SECTION in given:
        return update(settings, given[SECTION], base)
    values, problems = {}, []
    if "token" in given:
        problems.append("token: not taken from settings; use tokenFile, tokenVariable or codeserve/token")
    for name, field in _FIELDS.items():
        value = given.get(name)
        if value is None:
            continue
        try:
            field.metadata["check"](value)
        except ValueError as exc:
            problems.append(f"{name}: {exc}; it stays as it was")
            values[field.name] = getattr(settings, field.name)
        else:
            make = field.metadata.get("make")
            values[field.name] = make(value) if make else value
    return attrs.evolve(base, **values), problems
