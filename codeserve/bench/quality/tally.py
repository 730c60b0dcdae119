"""The replay's figures, by language and by cursor position."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from codeserve.bench.quality.cursor import POSITIONS
from codeserve.bench.quality.replay import Shown, Writing
from codeserve.bench.quality.score import quiet_below, sweep

__all__ = ["compare", "tally"]

_RESAMPLES = 1_000

T = TypeVar("T")
Pair = tuple[float, float]  # of one place: what is counted, and out of how much


def tally(writings: Sequence[Writing]) -> dict[str, Any]:
    """All places, then by language, then by position."""
    languages = dict.fromkeys(_language(writing) for writing in writings)
    positions = [name for name in POSITIONS if any(name in writing.asked for writing in writings)]
    confident = [
        (shown.confidence, shown)
        for writing in writings
        for shown in writing.shown
        if shown.confidence is not None
    ]
    return {
        "all": _figures(writings, POSITIONS) | _keys(writings),
        "by_language": {
            name: _figures(some, POSITIONS) | _keys(some)
            for name in languages
            for some in [[writing for writing in writings if _language(writing) == name]]
        },
        "by_position": {name: _figures(writings, (name,)) for name in positions},
        "confidence": sweep((sure, shown.line_exact, shown.kept, shown.length) for sure, shown in confident),
        "quiet_below": quiet_below((sure, shown.line_exact) for sure, shown in confident),
    }


def compare(without: Sequence[Writing], with_it: Sequence[Writing]) -> dict[str, Any]:
    """What something brings on the same places: the difference of the means, with its 95 % interval."""
    measures: dict[str, Callable[[Writing], Pair]] = {
        "line_exact": lambda writing: _share(writing.shown, lambda shown: shown.line_exact),
        "kept_per_shown": lambda writing: _share(writing.shown, lambda shown: shown.kept),
        "keys_saved": _saved,
    }
    return {
        name: _difference([measure(one) for one in without], [measure(one) for one in with_it])
        for name, measure in measures.items()
    }


def _language(writing: Writing) -> str:
    return writing.language.removesuffix("react")


def _figures(writings: Sequence[Writing], positions: Iterable[str]) -> dict[str, Any]:
    wanted = frozenset(positions)
    chosen = [[shown for shown in writing.shown if shown.position in wanted] for writing in writings]
    asked = [sum(writing.asked.get(name, 0) for name in wanted) for writing in writings]
    every = [shown for some in chosen for shown in some]

    def mean(measure: Callable[[Shown], float]) -> dict[str, Any]:
        return _mean([_share(some, measure) for some in chosen])

    return {
        "places": sum(count > 0 for count in asked),
        "asked": sum(asked),
        "shown": len(every),
        "shown_share": round(len(every) / sum(asked), 4) if sum(asked) else None,
        "exact": mean(lambda shown: shown.exact),
        "line_exact": mean(lambda shown: shown.line_exact),
        "accepted": mean(lambda shown: shown.accepted > 0),
        "kept_per_shown": mean(lambda shown: shown.kept),
        "kept_share": _mean([(sum(s.kept for s in some), sum(s.length for s in some)) for some in chosen]),
        "edit_similarity": mean(lambda shown: shown.similarity),
    }


def _keys(writings: Sequence[Writing]) -> dict[str, Any]:
    return {
        "characters": sum(writing.characters for writing in writings),
        "failed": sum(writing.failed for writing in writings),
        "keys_saved": _mean([_saved(writing) for writing in writings]),
    }


def _saved(writing: Writing) -> Pair:
    return writing.strokes - writing.keys, writing.strokes


def _share(shown: Sequence[Shown], measure: Callable[[Shown], float]) -> Pair:
    return sum(measure(one) for one in shown), len(shown)


def _mean(places: Sequence[Pair]) -> dict[str, Any]:
    """The ratio of the sums; its interval by drawing whole places again: in one, cases are alike."""
    used = [pair for pair in places if pair[1]]
    return {"value": _rounded(_ratio(used)), "ci95": _interval(used, _ratio)}


def _difference(before: Sequence[Pair], after: Sequence[Pair]) -> dict[str, Any]:
    both = list(zip(before, after, strict=True))

    def gain(pairs: Sequence[tuple[Pair, Pair]]) -> float | None:
        first, second = _ratio([a for a, _ in pairs]), _ratio([b for _, b in pairs])
        return None if first is None or second is None else second - first

    return {
        "without": _rounded(_ratio(before)),
        "with": _rounded(_ratio(after)),
        "gain": _rounded(gain(both)),
        "ci95": _interval(both, gain),
    }


def _ratio(pairs: Sequence[Pair]) -> float | None:
    whole = sum(pair[1] for pair in pairs)
    return sum(pair[0] for pair in pairs) / whole if whole else None


def _interval(items: Sequence[T], statistic: Callable[[Sequence[T]], float | None]) -> list[float] | None:
    """The percentile bootstrap's 95 % interval, the same each time."""
    rng = random.Random(0)
    drawn = (statistic(rng.choices(items, k=len(items))) for _ in range(_RESAMPLES if items else 0))
    values = sorted(value for value in drawn if value is not None)
    if not values:
        return None
    return [round(values[int(len(values) * share)], 4) for share in (0.025, 0.975)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
