"""Settings: each value by itself, defaults for the rest, and where the token comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codeserve_lsp.settings import Settings, read_token, update
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
    settings, problems = update(Settings(), given)
    assert problems == []
    texts = "wss://x", "t", "V", "c"
    asks = "show", False, Triggers(deletion=True)
    assert settings == Settings(False, *texts, 200, "line", 5, {"go": False}, *asks, False, False, 0, 10)
    assert update(Settings(), {"codeserve": given})[0] == settings


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
    ],
)
def test_a_bad_value_is_named_and_left_alone(name: str, value: Any) -> None:
    """One line says which and why; the other values count."""
    settings, [problem] = update(Settings(), {name: value, "caFile": "c"})
    assert problem.startswith(f"{name}: must ")
    assert settings == Settings(ca_file="c")


def test_null_unknown_and_no_object() -> None:
    """Null leaves a setting alone, unknown names are passed over, anything but an object is named."""
    before = Settings(budget_ms=100)
    assert update(before, {"budgetMs": None, "future": 1}) == (before, [])
    assert update(before, None) == (before, [])
    assert update(before, [1])[1] == ["the settings must be an object"]


def test_token_is_not_a_setting() -> None:
    """A token among the settings is refused without being repeated."""
    settings, [problem] = update(Settings(), {"token": "s3cret"})
    assert settings == Settings()
    assert "s3cret" not in problem


def test_languages() -> None:
    """A language's own word counts, else that for all others, else on."""
    assert Settings().language_on("python")
    settings = Settings(languages={"*": False, "python": True})
    assert settings.language_on("python")
    assert not settings.language_on("go")


def test_token_from_file_or_variable(tmp_path: Path) -> None:
    """The file goes before the variable; one that is missing, empty or no text is an error in one line."""
    environ = {"CODESERVE_TOKEN": " a ", "OTHER": "b"}
    assert read_token(Settings(), environ) == "a"
    assert read_token(Settings(token_variable="OTHER"), environ) == "b"
    assert read_token(Settings(), {}) is None
    file = tmp_path / "token"
    for content in (b"", b"\xff"):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="token file"):
            read_token(Settings(token_file=str(file)), environ)
    file.write_text("c\n")
    assert read_token(Settings(token_file=str(file)), environ) == "c"
    with pytest.raises(ValueError, match="cannot be read"):
        read_token(Settings(token_file=str(tmp_path / "none")), environ)
