"""Settings: each value by itself, and what holds where one is missing or bad."""

from __future__ import annotations

import re
from typing import Any

import attrs
import pytest

from codeserve_lsp.settings import Settings, update
from codeserve_lsp.trigger import Triggers


def test_all_values_are_taken() -> None:
    """Every setting has a camel-case name and changes what it says."""
    given: dict[str, Any] = {
        "enabled": False,
        "serverUrl": "wss://x",
        "tokenFile": "t",
        "tokenVariable": "V",
        "caFile": "c",
        "budgetMs": 200,
        "mode": "line",
        "candidates": 5,
        "languages": {"go": False},
        "prefetch": "show",
        "prewarm": False,
        "triggers": {"deletion": True},
        "openFiles": False,
        "imports": False,
        "contextChars": 0,
        "maxFileBytes": 10,
    }
    settings, problems = update(Settings(), given, Settings())
    assert problems == []
    texts = "wss://x", "t", "V", "c"
    asks = "show", False, Triggers(deletion=True)
    assert settings == Settings(False, *texts, 200, "line", 5, {"go": False}, *asks, False, False, 0, 10)
    assert update(Settings(), {"codeserve": given}, Settings())[0] == settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enabled", "yes"),
        ("serverUrl", 1),
        ("budgetMs", 49),
        ("budgetMs", True),
        ("budgetMs", 300.5),
        ("mode", "all"),
        ("mode", ["line"]),
        ("candidates", 0),
        ("languages", ["python"]),
        ("languages", {"python": "off"}),
        ("prefetch", "often"),
        ("maxFileBytes", -1),
        ("tokenFile", "a\0b"),
        ("caFile", "\ud800"),
        ("tokenVariable", "a\n"),
        ("serverUrl", "ws://h\n/x"),
    ],
)
def test_a_bad_value_is_named_and_left_alone(name: str, value: Any) -> None:
    """One line says which and why; the setting stays as it is in force, and the other values count."""
    now = Settings(False, "ws://now", "t", "V", "", 77, "block", 2, {"go": True}, "off", max_file_bytes=9)
    settings, [problem] = update(now, {"caFile": "c", name: value}, Settings())
    assert problem.startswith(f"{name}: must ")
    assert "\n" not in problem
    field = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)
    assert settings == attrs.evolve(Settings(ca_file="c"), **{field: getattr(now, field)})


def test_what_is_not_named_is_as_at_the_start() -> None:
    """A setting that is taken out, or null, falls back; unknown names are passed over."""
    now, base = Settings(budget_ms=100, mode="line"), Settings(budget_ms=200)
    assert update(now, {"budgetMs": None, "mode": "line", "future": 1}, base) == (
        attrs.evolve(base, mode="line"),
        [],
    )
    assert update(now, {}, base) == (base, [])
    assert update(now, None, base) == (base, [])
    assert update(now, {"codeserve": None, "editor": {}}, base) == (base, [])


@pytest.mark.parametrize("given", [[1], "x", 7, True, {"codeserve": []}, {"codeserve": 7}])
def test_no_object(given: Any) -> None:
    """Anything but an object is told and changes nothing."""
    now = Settings(budget_ms=100)
    assert update(now, given, Settings()) == (now, ["they must be an object"])


def test_token_is_not_a_setting() -> None:
    """A token among the settings is refused without being repeated."""
    settings, [problem] = update(Settings(), {"token": "s3cret"}, Settings())
    assert settings == Settings()
    assert "s3cret" not in problem


def test_languages() -> None:
    """A language's own word counts, else that for all others, else on."""
    assert Settings().language_on("python")
    settings = Settings(languages={"*": False, "python": True})
    assert settings.language_on("python")
    assert not settings.language_on("go")
