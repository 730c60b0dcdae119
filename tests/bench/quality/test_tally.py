"""Figures of the replay."""

from __future__ import annotations

import pytest

from codeserve.bench.quality.replay import Shown, Writing
from codeserve.bench.quality.tally import compare, tally


def shown(
    kept: int, *, position: str = "line end", right: bool = False, confidence: float | None = None
) -> Shown:
    """A suggestion of ten characters."""
    return Shown(position, 10, kept, right, right, kept / 10, 10 if right else 0, confidence)


def writing(language: str, *some: Shown, keys: int = 10) -> Writing:
    """A place with ten requests and ten keystrokes."""
    one = Writing("p/a", language, characters=20, keys=keys, strokes=10)
    one.asked = {"line end": 6, "mid-line": 4}
    one.shown = list(some)
    return one


def test_figures_by_language_and_position() -> None:
    """Each group counts its own; shares are over all of its cases, not means of means."""
    figures = tally(
        [
            writing("python", shown(10, right=True), shown(0), shown(2, position="mid-line"), keys=5),
            writing("typescript", shown(4)),
        ]
    )
    every = figures["all"]
    assert (every["places"], every["asked"], every["shown"], every["shown_share"]) == (2, 20, 4, 0.2)
    assert every["kept_per_shown"]["value"] == 4
    assert every["line_exact"]["value"] == 0.25
    assert every["keys_saved"]["value"] == 0.25
    assert figures["by_language"]["python"]["keys_saved"]["value"] == 0.5
    assert figures["by_language"]["typescript"]["kept_share"]["value"] == 0.4
    assert figures["by_position"]["mid-line"]["kept_per_shown"]["value"] == 2
    assert set(figures["by_position"]) == {"line end", "mid-line"}
    assert figures["confidence"] == []


def test_intervals_hold_the_value() -> None:
    """The interval is around the mean, the same each time, and a point where all places are alike."""
    some = [writing("python", shown(kept)) for kept in range(10)]
    figure = tally(some)["all"]["kept_per_shown"]
    low, high = figure["ci95"]
    assert low < figure["value"] == 4.5 < high
    assert tally(some)["all"]["kept_per_shown"] == figure
    assert tally([writing("python", shown(3))] * 9)["all"]["kept_per_shown"]["ci95"] == [3, 3]


def test_nothing_shown() -> None:
    """Without suggestions there is no mean, and no error."""
    figures = tally([writing("python")])
    assert figures["all"]["line_exact"] == {"value": None, "ci95": None}


def test_confidence_is_swept() -> None:
    """Where the server says how sure it is, precision is given by threshold."""
    figures = tally([writing("python", shown(10, right=True, confidence=-0.1), shown(0, confidence=-2.0))])
    assert figures["quiet_below"] == {"threshold": -2.0, "coverage": 1.0, "precision": 0.5}
    rows = figures["confidence"]
    assert rows[0]["precision"] == 0.5
    assert rows[-1] == {
        "threshold": -0.1,
        "coverage": 0.5,
        "precision": 1.0,
        "kept_per_shown": 10.0,
        "kept_share": 1.0,
    }


def test_compare() -> None:
    """The gain is the difference of the means on the same places."""
    before = [writing("python", shown(2)), writing("python", shown(4))]
    after = [writing("python", shown(4)), writing("python", shown(6), keys=8)]
    gains = compare(before, after)
    assert gains["kept_per_shown"]["gain"] == pytest.approx(2)
    assert gains["kept_per_shown"]["ci95"] == [2, 2]
    assert gains["keys_saved"]["with"] == pytest.approx(0.1)
