"""Measures, and their intervals."""

from __future__ import annotations

import pytest

from codeserve.bench.quality.score import (
    edit_similarity,
    exact,
    kept,
    paired,
    proportion,
    quiet_below,
    sweep,
)


def test_exact_ignores_white_space_at_the_end_only() -> None:
    """A newline at the end is no difference, indentation is."""
    assert exact("    return x", "    return x\n")
    assert not exact("return x", "    return x\n")


def test_edit_similarity() -> None:
    """From 0 for nothing in common to 1 for the same."""
    assert edit_similarity("abc", "abc\n") == 1
    assert edit_similarity("abc", "xyz") == 0
    assert edit_similarity("abcd", "abxx") == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "truth", "count"), [("ab", "abc", 2), ("abx", "abc", 2), ("x", "abc", 0), ("", "a", 0)]
)
def test_kept(text: str, truth: str, count: int) -> None:
    """Characters from the first one on, up to the first that differs."""
    assert kept(text, truth) == count


def test_proportion() -> None:
    """Wilson's interval as published for 15 of 50, and none without cases."""
    figure = proportion(15, 50)
    assert figure["share"] == 0.3
    assert figure["ci95"] == [0.191, 0.4375]
    assert proportion(0, 0)["share"] is None
    assert proportion(0, 10)["ci95"][0] == 0


def test_paired() -> None:
    """Counts by which of the two is right, and McNemar's exact probability: 2 * 0.5 ** 5 for five to none."""
    first = [True, False, False, False, False, False, False]
    second = [True, True, True, True, True, True, False]
    figure = paired(first, second)
    assert figure == {"both": 1, "only_first": 0, "only_second": 5, "neither": 1, "p": 0.0625}
    assert paired([True], [True])["p"] == 1


def test_sweep() -> None:
    """The surer the threshold, the fewer are shown; precision is that of what is shown."""
    cases = [(-0.1, True, 9, 10), (-0.2, True, 8, 10), (-3.0, False, 0, 10), (-2.0, False, 1, 10)]
    rows = sweep(cases, steps=2)
    assert [row["coverage"] for row in rows] == [1, 0.5]
    assert [row["precision"] for row in rows] == [0.5, 1]
    assert rows[1]["threshold"] == -0.2
    assert rows[1]["kept_share"] == pytest.approx(0.85)
    assert sweep([]) == []


def test_quiet_below() -> None:
    """The lowest threshold at which enough is right; cases that are as sure as it are shown too."""
    cases = [(-0.1, True), (-0.2, False), (-0.3, True), (-0.4, False), (-0.5, False), (-0.6, False)]
    assert quiet_below(cases, 0.5) == {"threshold": -0.4, "coverage": 0.6667, "precision": 0.5}
    assert quiet_below(cases, 0.34) == {"threshold": -0.5, "coverage": 0.8333, "precision": 0.4}
    assert quiet_below([(-0.1, True), (-0.1, False)], 0.75) is None
    assert quiet_below([]) is None
