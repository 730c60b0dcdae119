"""`codeserve models`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import attrs
import pytest

from codeserve.commands.models import models
from codeserve.engine import presets
from codeserve.engine.presets import load_presets
from tests.cli.command import codeserve
from tests.engine.llama import plain_mini

MODEL = Path(__file__).parents[2] / "models" / "mini-codellama"


async def test_presets_are_listed_with_where_their_weights_are() -> None:
    """The bundled model is here; the others are listed with their format and device."""
    result = await codeserve("models", "--json", HF_HUB_CACHE="/nonexistent")
    rows = {row["name"]: row for row in json.loads(result.out)}
    assert result.status == 0
    assert rows["mini-codellama"]["folder"] == str(MODEL)
    assert rows["mini-codellama"]["fim"] == "codellama-spm"
    assert rows["codellama-7b"]["folder"] is None
    assert rows["codellama-7b"]["device"] == "gpu"
    assert rows["codellama-7b"]["kv_bytes_per_developer"] == 2 << 30
    assert rows["codellama-7b"]["developers"]["24 GB"] < rows["codellama-7b-fp8"]["developers"]["24 GB"]
    assert "not trained on infilling" in rows["codellama-7b-python"]["refused"]


@pytest.mark.parametrize("kind", ["tensor_parallel", "pipeline_parallel", "data_parallel"])
def test_presets_for_several_gpus(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """Contexts are counted over as many cards as a preset is for."""
    one = load_presets()["codellama-7b"]
    fields: dict[str, Any] = {kind: 2}
    both = {"one": attrs.evolve(one, name="one"), "two": attrs.evolve(one, name="two", **fields)}
    monkeypatch.setattr(presets, "load_presets", lambda: both)
    monkeypatch.setenv("HF_HUB_CACHE", "/nonexistent")
    models(json=True)
    rows = {row["name"]: row["developers"]["48 GB"] for row in json.loads(capsys.readouterr().out)}
    assert rows["two"] >= 2 * rows["one"] > 0


async def test_table() -> None:
    """Without --json it is a table with a row for each preset."""
    result = await codeserve("models")
    assert result.status == 0
    assert "mini-codellama" in result.out
    assert "codellama-7b" in result.out
    assert "not here" in result.out


@pytest.mark.parametrize("columns", [80, 100, 119])
async def test_narrow_terminal(columns: int) -> None:
    """On a narrow terminal each preset is one whole line."""
    result = await codeserve("models", HF_HUB_CACHE="/nonexistent", COLUMNS=str(columns))
    _, head, *lines = result.out.splitlines()
    assert head.split() == [
        *("preset", "weights", "a", "developer"),
        *("24", "GB", "48", "GB", "80", "GB", "141", "GB", "here"),
    ]
    assert len(lines) == len(load_presets())
    assert all(len(line) <= columns and "…" not in line for line in lines)
    words = {line.split()[0]: line.split()[1:] for line in lines}
    assert words["codellama-7b"] == ["12.6", "GiB", "2.0", "GiB", "2", "12", "25", "51", "not", "here"]
    assert words["codellama-7b-int8"][-1] == "quantize"
    assert words["codellama-34b"] == ["refused"]


async def test_int8_weights_count_when_they_are_int8(tmp_path: Path) -> None:
    """For a preset whose weights are made, neither the model's own nor others of its name do."""
    plain_mini(tmp_path / "CodeLlama-7b-hf")
    plain_mini(tmp_path / "codellama-13b-int8")

    async def folders() -> dict[str, str | None]:
        found = await codeserve(
            "models", "--json", CODESERVE_MODELS_DIR=str(tmp_path), HF_HUB_CACHE="/nonexistent"
        )
        return {row["name"]: row["folder"] for row in json.loads(found.out)}

    before = await folders()
    assert before["codellama-7b"] == str(tmp_path / "CodeLlama-7b-hf")
    assert (before["codellama-7b-int8"], before["codellama-13b-int8"]) == (None, None)
    shutil.copytree(MODEL, tmp_path / "codellama-7b-int8")
    assert (await folders())["codellama-7b-int8"] == str(tmp_path / "codellama-7b-int8")


async def test_weights_in_the_users_own_folder_are_found(tmp_path: Path) -> None:
    """A folder of models holds a preset's weights under its name or its id's last part, if they are whole."""
    shutil.copytree(MODEL, tmp_path / "CodeLlama-7b-hf")
    (tmp_path / "codellama-13b").mkdir()
    result = await codeserve(
        "models", "--json", CODESERVE_MODELS_DIR=str(tmp_path), HF_HUB_CACHE="/nonexistent"
    )
    rows = {row["name"]: row for row in json.loads(result.out)}
    assert rows["codellama-7b"]["folder"] == str(tmp_path / "CodeLlama-7b-hf")
    assert rows["codellama-13b"]["folder"] is None  # there, but empty


async def test_weights_in_the_hub_cache_are_found(tmp_path: Path) -> None:
    """What was fetched from Hugging Face before is seen in its cache."""
    repository = tmp_path / "models--codellama--CodeLlama-7b-hf"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    shutil.copytree(MODEL, repository / "snapshots" / "abc")
    result = await codeserve("models", "--json", HF_HUB_CACHE=str(tmp_path))
    rows = {row["name"]: row for row in json.loads(result.out)}
    assert rows["codellama-7b"]["folder"] == str(repository / "snapshots" / "abc")


async def test_weights_in_the_folder_of_the_settings_file(tmp_path: Path) -> None:
    """``models_dir`` of the settings file counts, as it does for `codeserve serve`."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "codellama-7b").symlink_to(MODEL)
    config = tmp_path / "codeserve.toml"
    config.write_text('models_dir = "mine"\n')
    result = await codeserve(
        "models", "--json", CODESERVE_CONFIG=str(config), HF_HUB_CACHE=str(tmp_path / "none")
    )
    folders = {row["name"]: row["folder"] for row in json.loads(result.out)}
    assert folders["codellama-7b"] == str(tmp_path / "mine" / "codellama-7b")
