"""Right answers through the pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeserve.bench.quality.right import Answered, Pipeline, run_right
from codeserve.bench.quality.sources import Source
from codeserve.completion.tokens import Tokenizer

MODEL = Path(__file__).parents[3] / "models" / "mini-codellama"


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return Pipeline(Tokenizer.load(MODEL), "codellama-spm", context_tokens=4096, max_output_tokens=128)


@pytest.mark.parametrize(
    ("right", "left", "fate"),
    [
        ("a\nb\n", "a\nb", "whole"),
        ("a\nb", "a", "lines cut"),
        ("a b", "a", "line cut"),
        ("a b", "", "dropped"),
        ("  a", "    a", "changed"),
        ("a", "a\nb", "changed"),
    ],
)
def test_fate(right: str, left: str, fate: str) -> None:
    """What became of an answer, by where it was cut."""
    assert Answered("x", right, left).fate == fate


def test_single_lines_come_through(pipeline: Pipeline) -> None:
    """A right line is left as it is, in all but a few of a thousand cases."""
    figures, _ = run_right(pipeline, [], limit=300, seed=0)
    assert figures["single-line"]["whole"]["share"] >= 0.99


def test_what_is_lost_is_told(pipeline: Pipeline) -> None:
    """Lines that leave the block are cut in block mode; the case says what was right and what is left."""
    text = "def f(a):\n    if a:\n        return 1\n    return 2\n\n\nx = f(1)\n"
    left = pipeline.left(
        "def f(a):\n    if a:\n",
        "\n\n\nx = f(1)\n",
        "        return 1\n    return 2",
        language="python",
        mode="block",
    )
    assert Answered("x", "        return 1\n    return 2", left).fate in ("whole", "lines cut")
    figures, lost = run_right(pipeline, [Source("p/a.py", "python", text * 9)], limit=40, seed=0)
    assert figures["written: python"]["whole"]["n"] == 40
    counted = sum(part["whole"]["n"] - part["whole"]["hits"] for part in figures.values())
    assert len(lost) == counted
    assert all(one["fate"] != "whole" and one["right"] != one["left"] for one in lost)
