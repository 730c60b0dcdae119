"""A run learns, is the same from the same seed, and goes on from a checkpoint as if it had not stopped."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from training.average import average
from training.checkpoint import latest, load_checkpoint, load_weights
from training.export import export_int8
from training.finished import share_of_run
from training.model import SIZES, Llama
from training.optim import Optimizer, orthogonal
from training.progress import Log, curve_svg
from training.run import RunOptions, _Trainer, train
from training.schedule import Schedule


@pytest.fixture(scope="module")
def options(data: Path, tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> RunOptions:
    return RunOptions(
        data=data,
        run=tmp_path_factory.mktemp("whole"),
        tokenizer=tokenizer_folder,
        schedule=Schedule(steps=8),
        size="tiny",
        rows=2,
        row_tokens=256,
        micro_rows=1,
        workers=0,
        attention="dense",
        compile=False,
        log_every=2,
        validate_every=4,
        save_every_s=0.0,
    )


@pytest.fixture(scope="module")
def whole(options: RunOptions) -> Path:
    """The folder of a run that was not interrupted."""
    train(options, lambda text: None)
    return options.run


def _weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "model.safetensors")


def test_the_loss_falls(whole: Path) -> None:
    """From that of guessing among 32,016 ids (10.4) it falls at once, on the validation text too."""
    rows = Log(whole / "log.csv", 100).rows
    assert float(rows[0]["loss"]) > float(rows[-1]["loss"])
    assert float(rows[-1]["validation_loss"]) < 10.0
    assert (whole / "curve.svg").read_text().startswith("<svg")


def test_goes_on_as_if_it_had_not_stopped(whole: Path, options: RunOptions, tmp_path: Path) -> None:
    """A run that is stopped after its first and second step gives the very same weights and log."""
    parts = dataclasses.replace(options, run=tmp_path, stop_after_s=1e-6)
    assert train(parts, lambda text: None).step == 1
    assert train(parts, lambda text: None).step == 2
    assert train(dataclasses.replace(parts, stop_after_s=0.0), lambda text: None).step == 8
    expected, found = _weights(whole), _weights(tmp_path)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    rows = [Log(run / "log.csv", 100).rows for run in (whole, tmp_path)]
    assert [row | {"seconds": ""} for row in rows[0]] == [row | {"seconds": ""} for row in rows[1]]


def test_two_processes_are_one_run(whole: Path, options: RunOptions, tmp_path: Path) -> None:
    """Two processes with half of each batch come to nearly the same loss as one with all of it."""
    folders = [
        "--data",
        str(options.data),
        "--run-folder",
        str(tmp_path),
        "--tokenizer",
        str(options.tokenizer),
    ]
    shape = ["--size", "tiny", "--rows", "2", "--row-tokens", "256", "--micro-rows", "1", "--workers", "0"]
    how = ["--attention", "dense", "--no-compile", "--steps", "8"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    subprocess.run(
        [*launcher, "-m", "training", "train", *folders, *shape, *how],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
        timeout=120,
    )
    one, two = (Log.read(run / "log.csv")[-1] for run in (whole, tmp_path))
    assert two["step"] == one["step"] == "8"
    assert two["tokens"] == one["tokens"]
    name = "model.layers.0.mlp.up_proj.weight"
    apart = (_weights(tmp_path)[name].float() - _weights(whole)[name].float()).abs()
    assert apart.mean() < 2e-4  # 7e-4 where they do not average


def test_a_seed_decides(whole: Path, options: RunOptions, tmp_path: Path) -> None:
    """Another seed gives another model."""
    train(dataclasses.replace(options, run=tmp_path, seed=2, schedule=Schedule(steps=1)), lambda text: None)
    name = "model.embed_tokens.weight"
    assert not torch.equal(_weights(whole)[name], _weights(tmp_path)[name])


def test_start_from_weights(whole: Path, options: RunOptions, tmp_path: Path) -> None:
    """A run that starts from a trained model is better from its first step than one from nothing."""
    started = dataclasses.replace(
        options, run=tmp_path, init=whole / "model", log_every=1, schedule=Schedule(steps=1)
    )
    train(started, lambda text: None)
    assert float(Log(tmp_path / "log.csv", 9).rows[0]["loss"]) < 10.0


def test_start_from_published_weights(whole: Path, tmp_path: Path) -> None:
    """INT8 weights start a run as the values that they stand for."""
    export_int8(whole / "model", tmp_path)
    model = Llama(SIZES["tiny"], "dense", 0)
    load_weights(tmp_path, model)
    for name, parameter in model.named_parameters():
        before = _weights(whole)[name].float()
        torch.testing.assert_close(parameter.detach(), before, atol=0.01 * float(before.abs().max()), rtol=0)


def test_a_finished_run_takes_back_its_average(whole: Path, options: RunOptions, tmp_path: Path) -> None:
    """The same command again writes what the run ended with, which is then no average any more."""
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    average(run, whole / "model", 0.5)
    train(dataclasses.replace(options, run=run), lambda text: None)
    assert share_of_run(run) == 1.0
    assert not (run / "model-trained").exists()
    assert _weights(run).keys() == _weights(whole).keys()


def test_another_run_is_not_continued(whole: Path, options: RunOptions) -> None:
    """A checkpoint of a run with other settings is refused, by name."""
    with pytest.raises(ValueError, match=r"another rate, seed"):
        train(dataclasses.replace(options, seed=9, rate=0.5), lambda text: None)


def test_without_the_optimizers_file(whole: Path) -> None:
    """Weights and state alone are enough to go on: what a small transport can carry."""
    place = latest(whole / "checkpoints")
    assert place is not None
    model = Llama(SIZES["tiny"], "dense", 0)
    (place / "optimizer.safetensors").rename(place / "elsewhere")
    progress = load_checkpoint(place, model, Optimizer(model, 1.0, lambda function: function), {})
    (place / "elsewhere").rename(place / "optimizer.safetensors")
    assert progress.step == 8
    assert len(list((whole / "checkpoints").iterdir())) == 2


def test_a_loss_that_is_no_number(
    options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run stops there: no checkpoint, log row or model is written of it, and what was good stays."""
    step = _Trainer.step

    def spoiled(trainer: _Trainer, batch: dict[str, torch.Tensor], number: int, scale: float) -> torch.Tensor:
        sums = step(trainer, batch, number, scale)
        return sums * float("nan") if number == 2 else sums

    monkeypatch.setattr(_Trainer, "step", spoiled)
    short = dataclasses.replace(options, run=tmp_path, log_every=1, schedule=Schedule(steps=3))
    with pytest.raises(ValueError, match="the loss is nan at step 3"):
        train(short, lambda text: None)
    found = latest(tmp_path / "checkpoints")
    assert found is not None
    assert found.name == "step-0000002"
    assert [row["step"] for row in Log.read(tmp_path / "log.csv")] == ["1", "2"]
    assert not (tmp_path / "model").exists()


def test_a_damaged_checkpoint_stops_a_run(options: RunOptions, tmp_path: Path) -> None:
    """A checkpoint without its state begins no new run: the log and what else is there stay."""
    place = tmp_path / "checkpoints" / "step-0000008"
    place.mkdir(parents=True)
    (tmp_path / "log.csv").write_text("before")
    with pytest.raises(ValueError, match="step-0000008 is damaged"):
        train(dataclasses.replace(options, run=tmp_path), lambda text: None)
    assert (tmp_path / "log.csv").read_text() == "before"
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("content", ["", "[]", "{", '{"hidden_size": null}'])
def test_start_from_a_damaged_config(whole: Path, options: RunOptions, tmp_path: Path, content: str) -> None:
    """A config.json that states no shape is named, in one line."""
    init = Path(shutil.copytree(whole / "model", tmp_path / "init"))
    config = json.loads((init / "config.json").read_text())
    is_object = content.endswith("}")
    (init / "config.json").write_text(json.dumps(config | json.loads(content)) if is_object else content)
    with pytest.raises(ValueError, match=r"init/config\.json") as caught:
        train(dataclasses.replace(options, run=tmp_path / "run", init=init), lambda text: None)
    assert "\n" not in str(caught.value)


def test_orthogonal() -> None:
    """Muon's update has singular values near one, for tall and for wide matrices."""
    g = torch.randn(2, 48, 32, generator=torch.Generator().manual_seed(0))
    for x in (g, g.mT):
        values = torch.linalg.svdvals(orthogonal(x).float())
        assert 0.4 < values.min() <= values.max() < 1.4


def test_schedule() -> None:
    """The rate warms up, stays, and falls to nothing at the end; one kind of end is needed."""
    schedule = Schedule(steps=1000)
    assert schedule.scale(0, 0) < 0.1
    assert schedule.scale(300, 0) == 1.0
    assert 0.45 < schedule.scale(700, 0) < 0.55
    assert schedule.scale(1000, 0) == 0.0
    assert Schedule(minutes=2).done(5, 60.0) == 0.5
    with pytest.raises(ValueError, match="one of them"):
        Schedule()


def test_curve_needs_points() -> None:
    """A picture of nothing is an error, not an empty file."""
    with pytest.raises(ValueError, match="at least one"):
        curve_svg([])
