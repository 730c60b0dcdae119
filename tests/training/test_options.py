"""Numbers that no run can be made with are refused in one line, before anything is read or written."""

from pathlib import Path
from typing import Any

import pytest

from training import cli
from training.options import RunOptions
from training.schedule import Schedule


def _options(**chosen: Any) -> RunOptions:
    here = Path()
    return RunOptions(data=here, run=here, tokenizer=here, schedule=Schedule(steps=1), **chosen)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("rows", 0),
        ("rows", -2),
        ("micro_rows", 0),
        ("row_tokens", 0),
        ("row_tokens", -128),
        ("row_tokens", 100),
        ("rate", 0.0),
        ("rate", -1.0),
        ("rate", float("nan")),
        ("rate", float("inf")),
        ("seed", -1),
        ("seed", 2**63),
        ("workers", -1),
        ("stop_after_s", -60.0),
        ("stop_after_s", float("nan")),
    ],
)
def test_out_of_range(option: str, value: float) -> None:
    """The error names the option as it is given on the command line."""
    name = option.removesuffix("_s").replace("_", "-")
    with pytest.raises(ValueError, match=f"--{name} is "):
        _options(**{option: value})


@pytest.mark.parametrize(
    "ends", [(-1, 5.0), (5, -1.0), (5, float("nan")), (0, float("inf")), (0, 0.0), (1, 1.0)]
)
def test_no_end(ends: tuple[int, float]) -> None:
    """A run has one end; a negative number or none beside it is no way to say so."""
    with pytest.raises(ValueError, match="one of them"):
        Schedule(*ends)


def test_more_processes_than_rows() -> None:
    """Every process needs a row of a step."""
    _options(rows=2).check_machine(2, gpu=True)
    with pytest.raises(ValueError, match=r"--rows is 2: each of the 3 processes"):
        _options(rows=2).check_machine(3, gpu=True)


def test_varlen_without_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The attention that needs a GPU is refused without one, and the other named."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert cli.main(["train", "--steps", "1", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "--attention dense" in said
    assert said.count("\n") == 1
