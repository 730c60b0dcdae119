"""A finished run becomes a folder to publish, with a card that says what was measured."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from training import cli
from training.checkpoint import Progress, save_checkpoint
from training.export import save_model
from training.model import SIZES, Llama
from training.optim import Optimizer
from training.progress import Log, curve_svg

PACKAGES = Path(cli.__file__).with_name("packages.toml")
SHARE = {"hits": 3, "n": 10, "share": 0.3, "ci95": [0.1, 0.6]}
SETTINGS: dict[str, object] = {"seed": 7, "steps": 2, "minutes": 0.0}
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
    save_checkpoint(folder / "checkpoints", model, optimizer, Progress(2, 60.0, 2_000_000), SETTINGS)
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
    (run / "model" / "average.json").write_text('{"share": 0.7}')
    assert cli.main([*command, str(tmp_path / "average")]) == 0
    (run / "model" / "average.json").unlink()
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


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def _edit_json(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def spoil(run: Path) -> None:
        value = json.loads((run / name).read_text())
        change(value)
        (run / name).write_text(json.dumps(value))

    return spoil


def _edit_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def spoil(run: Path) -> None:
        path = run / "model" / "model.safetensors"
        tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
        change(tensors)
        save_file(tensors, path)

    return spoil


def _cut(run: Path) -> None:
    path = run / "model" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-999])


STATE = "checkpoints/step-0000002/state.json"
NORM, MATRIX = "model.norm.weight", "model.layers.0.mlp.up_proj.weight"
SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "manifest": (_edit_json("manifest.json", lambda it: it.pop("held_out_packages")), "not state held_out"),
    "languages": (_edit_json("manifest.json", lambda it: it.update(languages=3)), "no card can be made"),
    "no curve": (lambda run: (run / "curve.svg").unlink(), "there is no .*curve.svg"),
    "no log": (lambda run: (run / "log.csv").unlink(), "there is no .*log.csv"),
    "no rows": (lambda run: (run / "log.csv").write_text("step\n"), "without rows"),
    "other log": (lambda run: (run / "log.csv").write_text("hello\nx\n"), "is no log of a run"),
    "no state": (lambda run: (run / STATE).write_text("{}"), "is no state of a run"),
    "half a state": (lambda run: (run / STATE).write_text("{"), "cannot be read"),
    "no model": (lambda run: shutil.rmtree(run / "model"), "finish the run first"),
    "report": (lambda run: (run / "report.json").write_text("{}"), "has no parts"),
    "part": (lambda run: (run / "report.json").write_text('{"parts": {"lines": 1}}'), "no card can be"),
    "no report": (lambda run: (run / "report.json").unlink(), "there is no .*report.json"),
    "tokenizer": (lambda run: (run / "model" / "tokenizer.json").unlink(), "no tokenizer.json"),
    "cut weights": (_cut, "model.safetensors cannot be read"),
    "no weights": (lambda run: (run / "model" / "model.safetensors").unlink(), "lack model.embed_tokens"),
    "a tensor less": (_edit_weights(lambda it: it.pop(NORM)), f"lack {NORM}"),
    "a tensor more": (_edit_weights(lambda it: it.update(a=torch.ones(2))), "holds a,"),
    "a shape": (_edit_weights(lambda it: it.update({NORM: torch.ones(3)})), f"{NORM} is of shape"),
    "whole numbers": (_edit_weights(lambda it: it.update({MATRIX: it[MATRIX].char()})), "is torch.int8"),
    "no number": (_edit_weights(lambda it: it[MATRIX][0].fill_(torch.nan)), f"{MATRIX} holds values"),
    "infinite": (_edit_weights(lambda it: it[NORM].fill_(torch.inf)), f"{NORM} holds values"),
}  # fmt: skip


@pytest.mark.parametrize("form", [[], ["--bf16"]])
@pytest.mark.parametrize("what", SPOILT)
def test_nothing_is_lost(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, form: list[str]
) -> None:
    """What cannot be published is refused by name, and the folder that is there stays as it was."""
    spoil, complaint = SPOILT[what]
    broken = shutil.copytree(run, tmp_path / "run")
    spoil(broken)
    out = tmp_path / "mini"
    out.mkdir()
    for name in ("model.safetensors", "config.json", "README.md"):
        (out / name).write_text("before")
    before = _contents(out)
    command = ["export", "--run-folder", str(broken), "--data", str(broken), "--out", str(out)]
    assert cli.main([*command, "--quality", str(broken / "report.json"), *form]) == 1
    assert re.search(complaint, capsys.readouterr().err)
    assert _contents(out) == before
    assert {path.name for path in tmp_path.iterdir()} == {"run", "mini"}


@pytest.mark.parametrize("place", ["", "model", "model/mini", "mini", ".."])
def test_not_among_what_is_read(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    """The run's own folders, what is in them and what they are in are no place to publish."""
    own = shutil.copytree(run, tmp_path / "run")
    before = _contents(tmp_path)
    command = ["export", "--run-folder", str(own), "--data", str(own), "--out", str(own / place)]
    assert cli.main([*command, "--bf16"]) == 1
    assert "name another folder by --out" in capsys.readouterr().err
    assert _contents(tmp_path) == before


def test_files_are_replaced(run: Path, tmp_path: Path) -> None:
    """Weights of before go, files of others stay, and a killed export is no obstacle."""
    out = tmp_path / "mini"
    out.mkdir()
    (out / "model-00001-of-00002.safetensors").write_text("before")
    (out / "LICENSE").write_text("mine")
    (tmp_path / ".mini.part").mkdir()
    (tmp_path / ".mini.part" / "model.safetensors").write_text("half")
    assert cli.main(["export", "--run-folder", str(run), "--data", str(run), "--out", str(out)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["mini"]
    assert [path.name for path in out.glob("*.safetensors")] == ["model.safetensors"]
    assert (out / "LICENSE").read_text() == "mine"
    size = sum(tensor.nbytes for tensor in load_file(out / "model.safetensors").values())
    assert f", {size / 1e6:.1f} MB |" in (out / "README.md").read_text()


@pytest.mark.parametrize(
    ("steps", "minutes", "status"),
    [(2, 0.0, 0), (3, 0.0, 1), (0, 1.0, 0), (0, 1.01, 0), (0, 1.1, 1), (0, 0.0, 1)],
)
def test_before_the_end(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], steps: int, minutes: float, status: int
) -> None:
    """A run that is not over is refused, though an older model lies in its folder; a second is no matter."""
    own = shutil.copytree(run, tmp_path / "run")
    _edit_json(STATE, lambda it: it["settings"].update(steps=steps, minutes=minutes))(own)
    command = ["export", "--run-folder", str(own), "--data", str(own), "--out", str(tmp_path / "mini")]
    assert cli.main(command) == status
    assert (tmp_path / "mini").exists() == (status == 0)
    assert ("error: " in capsys.readouterr().err) == (status == 1)


def test_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a finished run there is one line that says so."""
    assert cli.main(["export", "--run-folder", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "error: " in capsys.readouterr().err
