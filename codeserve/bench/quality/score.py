"""How good texts are: the measures, and how sure one may be of their means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

__all__ = ["edit_similarity", "exact", "kept", "paired", "proportion", "quiet_below", "sweep"]

_Z = 1.959964  # two-sided 95 % of the normal distribution
_ONE_IN_FOUR = 0.25  # of suggestions right, below which they disturb more than they help: a judgement
_MOST_CHARS = 2_000  # compared by `edit_similarity`, whose time grows with the square


def exact(text: str, truth: str) -> bool:
    """Whether both are the same but for white space at the end."""
    return text.rstrip() == truth.rstrip()


def edit_similarity(text: str, truth: str) -> float:
    """From 0 to 1: twice the characters in common runs (difflib's matching blocks) over all characters."""
    a, b = text.rstrip()[:_MOST_CHARS], truth.rstrip()[:_MOST_CHARS]
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def kept(text: str, truth: str) -> int:
    """How many characters of ``text`` the author typed the same, from its beginning on."""
    pairs = zip(text, truth, strict=False)
    differ = next((place for place, (a, b) in enumerate(pairs) if a != b), None)
    return min(len(text), len(truth)) if differ is None else differ


def proportion(hits: int, of: int) -> dict[str, Any]:
    """A share with its 95 % interval (Wilson's score); share and interval None without cases."""
    if not of:
        return {"hits": hits, "n": of, "share": None, "ci95": None}
    share = hits / of
    square = _Z * _Z
    centre = (share + square / (2 * of)) / (1 + square / of)
    half = _Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return {"hits": hits, "n": of, "share": round(share, 4), "ci95": [round(low, 4), round(high, 4)]}


def paired(first: Sequence[bool], second: Sequence[bool]) -> dict[str, Any]:
    """The same cases under two conditions: how often only one of them is right.

    ``p`` is McNemar's exact test: the probability of so uneven a split, or a worse one, by chance.
    """
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    differ = only_first + only_second
    tail = sum(math.comb(differ, k) for k in range(min(only_first, only_second) + 1)) / 2**differ
    return {
        "both": sum(a and b for a, b in zip(first, second, strict=True)),
        "only_first": only_first,
        "only_second": only_second,
        "neither": sum(not (a or b) for a, b in zip(first, second, strict=True)),
        "p": round(min(1.0, 2 * tail), 4),
    }


def quiet_below(cases: Iterable[tuple[float, bool]], share: float = _ONE_IN_FOUR) -> dict[str, Any] | None:
    """The least confidence at which so large a share of what is shown is right: a `min_confidence`.

    A case is ``(confidence, right)``. Of all thresholds that do, the lowest; None when there is none.
    """
    ordered = sorted(cases, key=lambda case: -case[0])
    found = None
    right = 0
    for count, (confidence, good) in enumerate(ordered, 1):
        right += good
        last = count == len(ordered) or ordered[count][0] < confidence  # those that are as sure go with it
        if last and right >= share * count:
            found = confidence, count, right
    if found is None:
        return None
    confidence, count, right = found
    return {
        "threshold": round(confidence, 4),
        "coverage": round(count / len(ordered), 4),
        "precision": round(right / count, 4),
    }


def sweep(cases: Iterable[tuple[float, bool, int, int]], steps: int = 10) -> list[dict[str, Any]]:
    """Precision against coverage when only what the model is sure enough of is shown.

    A case is ``(confidence, right, kept characters, length)``. Each row shows those at or above a threshold:
    from all of them down to the surest tenth.
    """
    ordered = sorted(cases, key=lambda case: -case[0])
    rows = []
    for step in range(steps, 0, -1):
        count = math.ceil(len(ordered) * step / steps)
        shown = ordered[:count]
        if not shown:
            continue
        rows.append(
            {
                "threshold": round(shown[-1][0], 4),
                "coverage": round(count / len(ordered), 4),
                "precision": round(sum(case[1] for case in shown) / count, 4),
                "kept_per_shown": round(sum(case[2] for case in shown) / count, 2),
                "kept_share": round(
                    sum(case[2] for case in shown) / max(1, sum(case[3] for case in shown)), 4
                ),
            }
        )
    return rows
