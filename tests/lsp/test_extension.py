"""The VS Code extension and the language server agree on the settings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs

from codeserve_lsp.settings import Settings, update

EXTENSION = Path(__file__).parents[2] / "vscode-extension"


def declared() -> dict[str, dict[str, Any]]:
    """The settings in the extension's manifest, without their section."""
    manifest = json.loads((EXTENSION / "package.json").read_text())
    properties = manifest["contributes"]["configuration"]["properties"]
    return {name.removeprefix("codeserve."): value for name, value in properties.items()}


def passed_on() -> list[str]:
    """The names that the extension hands to the language server."""
    text = (EXTENSION / "src" / "settings.ts").read_text()
    found = re.search(r"FOR_LANGUAGE_SERVER = \[(.*?)\]", text, re.DOTALL)
    assert found is not None
    return re.findall(r"'(\w+)'", found[1])


def test_defaults_are_the_language_servers() -> None:
    """What the settings editor shows as the default is what the language server does without a setting.

    But for prose: other editors attach a server to the languages that their users name.
    """
    defaults = {name: declared()[name]["default"] for name in passed_on()}
    assert set(defaults.pop("languages").values()) == {False}
    other = Settings(budget_ms=50, mode="block", candidates=1)
    settings, problems = update(other, defaults, other)
    assert problems == []
    assert settings == Settings()


def test_every_setting_but_the_tokens_is_offered() -> None:
    """A setting of the language server is one of the extension too, except for the token."""
    names = {re.sub(r"_(\w)", lambda m: m[1].upper(), field.name) for field in attrs.fields(Settings)}
    assert set(passed_on()) == names - {"tokenFile", "tokenVariable"}


def test_limits_are_the_language_servers() -> None:
    """A number that the settings editor takes is one that the language server takes, at both ends."""
    for name in passed_on():
        for end in ("minimum", "maximum"):
            if end in declared()[name]:
                limit = declared()[name][end]
                beyond = limit + (1 if end == "maximum" else -1)
                assert update(Settings(), {name: limit}, Settings())[1] == []
                assert update(Settings(), {name: beyond}, Settings())[1] != []
