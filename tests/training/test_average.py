"""The average of two models lies between them, and the run's own stays."""

import json
from pathlib import Path

import pytest
import torch

from training.average import average, averaged
from training.checkpoint import read_weights
from training.export import save_model
from training.finished import share_of_run
from training.model import SIZES, Llama


def test_each_weight_lies_between() -> None:
    """A share of 0.75 is three quarters of the way from the other weights."""
    found = averaged({"a": torch.tensor([4.0, 0.0])}, {"a": torch.tensor([0.0, 8.0])}, 0.75)
    assert found["a"].tolist() == [3.0, 2.0]


@pytest.mark.parametrize(
    ("other", "share", "said"),
    [
        ({}, 0.5, "no a"),
        ({"a": torch.zeros(3)}, 0.5, "no a"),
        ({"a": torch.zeros(2)}, 1.0, "between 0 and 1"),
    ],
)
def test_what_cannot_be_averaged_is_refused(other: dict[str, torch.Tensor], share: float, said: str) -> None:
    """Weights of another model and a share that leaves one of them out are refused."""
    with pytest.raises(ValueError, match=said):
        averaged({"a": torch.ones(2)}, other, share)


def test_the_run_keeps_its_own(tokenizer_folder: Path, tmp_path: Path) -> None:
    """The model is replaced by the average; a second call begins with the trained one again."""
    run, other = tmp_path / "run", tmp_path / "other"
    for seed, folder in enumerate((run / "model", other)):
        save_model(Llama(SIZES["tiny"], "dense", seed), folder, tokenizer_folder, torch.float32)
    trained = read_weights(run / "model")
    assert share_of_run(run) == 1.0
    average(run, other, 0.2)
    average(run, other, 0.5)
    assert share_of_run(run) == 0.5
    for name, tensor in read_weights(run / "model").items():
        torch.testing.assert_close(tensor, (trained[name] + read_weights(other)[name]) / 2)
        torch.testing.assert_close(read_weights(run / "model-trained")[name], trained[name])
    assert json.loads((run / "model" / "config.json").read_text())["hidden_size"] == 64


def test_before_the_end_of_a_run(tmp_path: Path) -> None:
    """Without a model there is nothing to average, and nothing is made."""
    (tmp_path / "run").mkdir()
    with pytest.raises(FileNotFoundError):
        average(tmp_path / "run", tmp_path / "run", 0.5)
    assert list((tmp_path / "run").iterdir()) == []
