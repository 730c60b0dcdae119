"""Python values as JSON between processes that do not trust each other."""

from __future__ import annotations

import math
from typing import Any

import pytest

from codeserve.bench.quality.values import OPAQUE, dumps, loads


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(10**400),
        0.1,
        -0.0,
        math.inf,
        1 + 2j,
        "é\ud83d\n",
        b"\x00\xff",
        [1, [2.5, "x"]],
        (1, ("a",)),
        {1, 2},
        frozenset({"a"}),
        {"a": [1], (1, 2): None},
    ],
)
def test_plain_values_come_back(value: Any) -> None:
    """What a test compares comes back equal and of the same type."""
    back = loads(dumps(value))
    assert back == value
    assert type(back) is type(value)


def test_not_a_number_comes_back() -> None:
    """A float that equals nothing is still one."""
    assert math.isnan(loads(dumps(math.nan)))


def test_other_objects_equal_nothing() -> None:
    """An object that says it equals everything becomes one that equals nothing."""

    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    assert loads(dumps(Equal())) is OPAQUE
    assert OPAQUE != OPAQUE
    assert loads(dumps(1 << (1 << 21))) is OPAQUE


@pytest.mark.parametrize(
    "line", ["", "7", "[]", '["nothing"]', '["int", "x"]', '["list", 3]', b"\xff", "[" * 99_999]
)
def test_other_lines_are_refused(line: str | bytes) -> None:
    """A line that is no packed value raises ValueError, whatever it is."""
    with pytest.raises(ValueError, match=r".*"):
        loads(line)
