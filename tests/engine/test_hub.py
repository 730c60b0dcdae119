"""Models by Hugging Face id, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeserve.engine.hub import fetch_model
from codeserve.errors import ConfigError
from tests.engine.models import model

pytest.importorskip("huggingface_hub", reason="comes with the engine")


def test_folder_is_itself(tmp_path: Path) -> None:
    """A folder is not fetched, but checked."""
    assert fetch_model(model(tmp_path)) == tmp_path
    (tmp_path / "config.json").unlink()
    with pytest.raises(ConfigError, match=r"config\.json"):
        fetch_model(tmp_path)


def test_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the hub's library returns is checked to be whole."""
    asked: list[tuple[str, list[str]]] = []

    def snapshot_download(name: str, allow_patterns: list[str]) -> str:
        asked.append((name, allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    model(tmp_path)
    assert fetch_model("a/b") == tmp_path
    assert asked == [("a/b", ["*.json", "*.safetensors", "*.model"])]


def test_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network one line says to bring the folder."""

    def snapshot_download(name: str, allow_patterns: list[str]) -> str:
        raise ConnectionError("no route")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    with pytest.raises(ConfigError, match="copy its folder here"):
        fetch_model("a/b")
