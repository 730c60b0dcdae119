"""Models by Hugging Face id, without a network: the library's download is replaced."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import errors

from codeserve.engine.hub import fetch_model, fetch_preset
from codeserve.engine.preset import Preset, Speculation
from codeserve.errors import ConfigError

from .models import sharded


def answer(monkeypatch: pytest.MonkeyPatch, result: Path | Exception) -> list[tuple[str, list[str]]]:
    """Let the download give this. Returns the list that will hold what was asked for."""
    asked: list[tuple[str, list[str]]] = []

    def snapshot_download(repo_id: str, *, allow_patterns: list[str]) -> str:
        asked.append((repo_id, allow_patterns))
        if isinstance(result, Exception):
            raise result
        return str(result)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return asked


def http_error(kind: type[errors.HfHubHTTPError]) -> errors.HfHubHTTPError:
    """An error of the library without the response that it is made from."""
    return kind.__new__(kind)


def test_folder_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is checked and given back; nothing is asked outside."""
    asked = answer(monkeypatch, AssertionError())
    folder = sharded(tmp_path)
    assert fetch_model(folder) == folder
    assert asked == []


def test_folder_is_checked(tmp_path: Path) -> None:
    """A folder that is not whole is refused."""
    (sharded(tmp_path) / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match=r"has no tokenizer\.json"):
        fetch_model(tmp_path)


def test_fetched_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is fetched by its id, without its weights in other formats."""
    asked = answer(monkeypatch, sharded(tmp_path))
    assert fetch_model("org/model") == tmp_path
    ((name, patterns),) = asked
    assert name == "org/model"
    assert "*.safetensors" in patterns
    assert not any("bin" in pattern for pattern in patterns)


def test_fetched_folder_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download that was broken off is refused."""
    answer(monkeypatch, sharded(tmp_path))
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"00002-of-00002\.safetensors is missing"):
        fetch_model("org/model")


@pytest.mark.parametrize(("method", "pickled"), [("draft_model", False), ("eagle3", True)])
def test_a_model_that_drafts_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: Any, pickled: bool
) -> None:
    """It comes with the preset's own, and of a head what others leave away too."""
    asked = answer(monkeypatch, sharded(tmp_path))
    drafting = Speculation(method=method, model="org/draft")
    preset = Preset(name="x", model="org/model", fim="codellama-spm", speculation=drafting)
    fetched = fetch_preset(preset)
    assert fetched.model == tmp_path
    assert fetched.speculation is not None
    assert fetched.speculation.model == tmp_path
    patterns = dict(asked)
    assert set(patterns) == {"org/model", "org/draft"}
    assert ("pytorch_model*.bin" in patterns["org/draft"]) == pickled
    assert fetch_preset(Preset(name="x", model=tmp_path, fim="codellama-spm")).speculation is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (http_error(errors.GatedRepoError), "asks for its licence to be accepted: .* set HF_TOKEN"),
        (http_error(errors.RepositoryNotFoundError), "there is no model org/model on Hugging Face"),
        (http_error(errors.HfHubHTTPError), r"cannot be fetched \(HfHubHTTPError\): copy its folder"),
        (errors.LocalEntryNotFoundError("offline"), r"cannot be fetched \(LocalEntryNotFoundError\)"),
        (OSError(28, "No space left on device"), r"cannot be fetched \(OSError\)"),
        (RuntimeError("a timeout of the HTTP library"), r"cannot be fetched \(RuntimeError\)"),
    ],
)
def test_failed_download(monkeypatch: pytest.MonkeyPatch, error: Exception, expected: str) -> None:
    """What keeps a model from being fetched is told with what to do."""
    answer(monkeypatch, error)
    with pytest.raises(ConfigError, match=expected) as caught:
        fetch_model("org/model")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a/b/c", "no spaces", "org/-x-", "org/model.git"])
def test_what_is_no_id(name: str) -> None:
    """A name that no model can have is refused by the library itself, before anything is asked outside."""
    with pytest.raises(ConfigError, match="neither a model folder nor a Hugging Face id"):
        fetch_model(name)


def test_library_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library the two ways out are told."""
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match="pip install huggingface_hub, or pass a model folder"):
        fetch_model("org/model")
