"""A finished run becomes a folder to publish, with a card that says what was measured."""

import hashlib
import json
from pathlib import Path

import pytest
import torch

from training import cli
from training.checkpoint import Progress, save_checkpoint
from training.export import save_model
from training.model import SIZES, Llama
from training.optim import Optimizer
from training.progress import Log, curve_svg

PACKAGES = Path(cli.__file__).with_name("packages.toml")
SHARE = {"hits": 3, "n": 10, "share": 0.3, "ci95": [0.1, 0.6]}
REPORT = {
    "parts": {
        "single-line": {"models": {"served": {"exact_match": SHARE, "pass_at_1": SHARE}}, "by_language": {}},
        "lines": {
            "models": {"served": {"exact_match": SHARE, "pass_at_1": None}},
            "by_language": {"python": {"served": {"exact_match": SHARE, "pass_at_1": None}}},
        },
    }
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tokenizer_folder: Path) -> Path:
    """The folder of a run, without the training."""
    folder = tmp_path_factory.mktemp("run")
    model = Llama(SIZES["tiny"], "dense", 0)
    save_model(model, folder / "model", tokenizer_folder)
    optimizer = Optimizer(model, 1.0, lambda function: function)
    save_checkpoint(folder / "checkpoints", model, optimizer, Progress(2, 60.0, 2_000_000), {"seed": 7})
    log = Log(folder / "log.csv", 0)
    log.add({"step": 1, "seconds": 30.0, "tokens": 1_000_000, "loss": 5.0, "middle_loss": 5.5, "rate": 1.0})
    log.add(
        {
            "step": 2,
            "seconds": 60.0,
            "tokens": 2_000_000,
            "loss": 4.0,
            "middle_loss": 4.5,
            "validation_loss": 4.25,
        }
    )
    (folder / "curve.svg").write_text(curve_svg(log.rows))
    manifest = {
        "list": hashlib.sha256(PACKAGES.read_bytes()).hexdigest(),
        "held_out_packages": 3,
        "languages": {"python": {"files": 2, "bytes": 5e6}},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "report.json").write_text(json.dumps(REPORT))
    return folder


def test_card_of_a_continued_run(run: Path, tmp_path: Path) -> None:
    """The card says whether a run began from random weights or from those of a model."""
    command = ["export", "--run", str(run), "--data", str(run), "--out"]
    assert cli.main([*command, str(tmp_path / "scratch")]) == 0
    state = run / "checkpoints" / "step-0000002" / "state.json"
    before = state.read_text()
    state.write_text(before.replace('"seed": 7', '"seed": 7, "init": "mini"'))
    assert cli.main([*command, str(tmp_path / "continued")]) == 0
    state.write_text(before)
    assert "From scratch" in (tmp_path / "scratch" / "README.md").read_text()
    assert "Continued from the weights published before" in (tmp_path / "continued" / "README.md").read_text()


def test_card_of_an_average(run: Path, tmp_path: Path) -> None:
    """The card says of averaged weights how much of them is the run's, and only of those."""
    command = ["export", "--run", str(run), "--data", str(run), "--out"]
    assert cli.main([*command, str(tmp_path / "own")]) == 0
    (run / "average.json").write_text('{"share": 0.7}')
    assert cli.main([*command, str(tmp_path / "average")]) == 0
    (run / "average.json").unlink()
    assert "average" not in (tmp_path / "own" / "README.md").read_text()
    assert "70 % of what the run ended with and 30 % of" in (tmp_path / "average" / "README.md").read_text()


@pytest.mark.parametrize("form", [[], ["--bf16"]])
def test_folder(run: Path, tmp_path: Path, form: list[str]) -> None:
    """Weights, config, tokenizer, curve and card; the card has the figures of the report."""
    out = tmp_path / "mini"
    command = [
        "export",
        "--run",
        str(run),
        "--data",
        str(run),
        "--out",
        str(out),
        "--quality",
        str(run / "report.json"),
    ]
    assert cli.main([*command, *form]) == 0
    assert {"README.md", "config.json", "curve.svg", "model.safetensors", "tokenizer.json"} <= {
        p.name for p in out.iterdir()
    }
    card = (out / "README.md").read_text()
    assert card.startswith("# mini\n")
    assert (
        "| HumanEval, single-line infilling (served) | 10 | 30.0 % (10.0 to 60.0) | 30.0 % (10.0 to 60.0) |"
        in card
    )
    assert "| lines of held-out packages, python (served) | 10 | 30.0 % (10.0 to 60.0) | – |" in card
    assert "5 MB of Python" in card
    assert "4.250" in card
    assert ("compressed-tensors" in card) is (form == [])
    config = json.loads((out / "config.json").read_text())
    assert ("quantization_config" in config) is (form == [])


def test_another_list(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A card is made for the list that the data was made from, and no other; what is there stays."""
    other = tmp_path / "packages.toml"
    other.write_text(PACKAGES.read_text() + "\n")
    older = tmp_path / "older"  # data from before the list was noted
    older.mkdir()
    (older / "manifest.json").write_text("{}")
    assert cli.main(["export", "--run", str(run), "--data", str(older), "--out", str(tmp_path / "no")]) == 1
    assert "was made from another list" in capsys.readouterr().err
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"before")
    command = ["export", "--run", str(run), "--data", str(run), "--packages", str(other)]
    assert cli.main([*command, "--out", str(tmp_path)]) == 1
    assert "was made from another list" in capsys.readouterr().err
    assert weights.read_bytes() == b"before"


def test_large_models_are_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokenizer_folder: Path
) -> None:
    """No file is over the limit, and all tensors are in the index."""
    monkeypatch.setattr("training.export.SHARD_BYTES", 100_000)
    model = Llama(SIZES["tiny"], "dense", 0)
    save_model(model, tmp_path, tokenizer_folder)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == {name for name, _ in model.named_parameters()}
    assert len({*index["weight_map"].values()}) == len(list(tmp_path.glob("*.safetensors"))) > 1
    again = Llama(SIZES["tiny"], "dense", 1)
    from training.checkpoint import load_weights

    load_weights(tmp_path, again)
    assert torch.equal(again.model.norm.weight, model.model.norm.weight)


def test_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a finished run there is one line that says so."""
    assert cli.main(["export", "--run-folder", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "error: " in capsys.readouterr().err
