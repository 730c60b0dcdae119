"""How long the engine takes for a line of code under the load of the moment: pure, learnt from what it did.

A line's time is the time to its first token plus that of the tokens after it. It is taken as a sum of three
parts: one that is always there, one that grows with the sequences that run beside it, and the prefill of the
prompt tokens that the prefix cache does not hold. A request that ended early (superseded, cancelled, cut off)
is judged by the tokens that it got; one that got none tells only that it would have taken longer than that.

What is foretold is not the mean but what 95 % stay under, by how far the samples lie from the sum.
"""

from __future__ import annotations

import bisect
import math

import attrs

__all__ = ["LINE_TOKENS", "Pace", "Service"]

LINE_TOKENS = 15  # what is foreseen for a line; four of five real ones are no longer

_KEEP = 0.96  # of the past's weight with each new sample: half of it is gone after 17
_DEVIATIONS = 1.645  # above the mean of a normal distribution lie 5 %
_CENSORED = 1.5  # times its age: what a request without a token would have taken, for want of better
_SMOOTHING = 0.1  # of a new value in a running mean
_ENOUGH = 6.0  # weight of samples before anything is said: seven of them
# A cold prompt also delays what runs beside it, and its blocks push those of others out of the cache: so it
# counts for more than its own time: for half of it more with each sequence beside it, up to this. By
# scripts/simulate_admission.py, beyond what a GPU holds half as many are answered when it counts once.
_DELAYS = 3.0
_DELAY = 0.5
_SPREAD = 0.25  # of the number of sequences (its variance): with less, no slope can be told
# One sample counts for no more than so many times what was thought, or so many milliseconds where that is
# more: a stop of everything for seconds, which says nothing of what comes after it, would else stand in the
# sums for hundreds of samples. An engine that has become slow shows it again and again.
_OUTLIER = 4.0
_OUTLIER_MS = 1_000.0
# The other way round, so many samples in a row that took less than this share of what was foretold tell
# that the past no longer holds: after a stop of everything all that was in the engine is among the sums, and
# what is refused meanwhile cannot show how fast it is again. Until one took more, the past fades faster.
_RELIEF = 4
_RELIEF_SHARE = 0.33
_RELIEF_KEEP = 0.85  # more is left of it than `_ENOUGH`
_COLD_TOKENS = 256  # to prefill: fewer are too noisy a measure of its speed


# Seconds since a document was last worked on, that tell how much of its prompt is still cached.
_AGES = (1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 60.0)


def _age(since_s: float | None) -> int:
    """The index of an age; the last one is that of a document that is new."""
    return len(_AGES) + 1 if since_s is None else bisect.bisect(_AGES, since_s)


@attrs.frozen
class Service:
    """What one request got. Times are milliseconds since its arrival."""

    live: float  # sequences in the engine meanwhile, its own included: the mean of its start and its end
    age_ms: float  # when it ended, however that was
    ttft_ms: float | None  # None without a token
    tpot_ms: float | None  # mean per token after the first; None with fewer than two
    prompt_tokens: int = 0
    cached_tokens: int = 0
    since_s: float | None = None  # seconds since its document was last worked on; None: it is new


@attrs.define
class Pace:
    """Running measures of the engine. Times are milliseconds."""

    _tpot: float = 10.0
    _prefill: float = 0.0  # per token
    _warm_ttft: float | None = None
    _uncached: list[float] = attrs.field(factory=lambda: [0.0] * (len(_AGES) + 2))  # tokens, by `_age`
    _faster: int = 0  # samples in a row that were much faster than was thought
    # Sums over the samples, the older the less they weigh: of 1, live, line, live², live * line, line².
    _sums: tuple[float, ...] = (0.0,) * 6

    def observe(self, service: Service) -> None:
        """Learn from one request."""
        if service.ttft_ms is None:
            # It says something only where it took longer than was thought.
            thought = self._forecast(service.live, since_s=service.since_s)
            if thought is None or service.age_ms > thought[0]:
                self._add(service.live, _CENSORED * service.age_ms)
            return
        uncached = max(0, service.prompt_tokens - service.cached_tokens)
        age = _age(service.since_s)
        self._uncached[age] += _SMOOTHING * (uncached - self._uncached[age])
        if service.tpot_ms is not None:
            self._tpot += _SMOOTHING * (service.tpot_ms - self._tpot)
        if uncached < _COLD_TOKENS:
            warm = service.ttft_ms if self._warm_ttft is None else self._warm_ttft
            self._warm_ttft = warm + _SMOOTHING * (service.ttft_ms - warm)
        else:
            speed = max(0.0, service.ttft_ms - (self._warm_ttft or 0.0)) / uncached
            self._prefill = self._prefill + _SMOOTHING * (speed - self._prefill) if self._prefill else speed
        line = service.ttft_ms + LINE_TOKENS * (service.tpot_ms or self._tpot)
        self._add(service.live, line - self._prefill * uncached)

    def _add(self, live: float, line: float) -> None:
        thought = self._forecast(live, since_s=0.0)
        most = math.inf if thought is None else max(_OUTLIER_MS, _OUTLIER * thought[0])
        line = min(max(0.0, line), most)
        relief = thought is not None and line < _RELIEF_SHARE * sum(thought)
        self._faster = self._faster + 1 if relief else 0
        keep = _RELIEF_KEEP if self._faster >= _RELIEF else _KEEP
        new = (1.0, live, line, live * live, live * line, line * line)
        self._sums = tuple(old * keep + value for old, value in zip(self._sums, new, strict=True))

    def line_ms(self, live: float, *, since_s: float | None) -> float | None:
        """Time for a line with ``live`` sequences in the engine; None while too little is known.

        ``since_s`` is the time since the document was last worked on: the longer ago, the less of its prompt
        may still be cached. None is a document that is new.
        """
        forecast = self._forecast(live, since_s=since_s)
        return None if forecast is None else sum(forecast)

    def _forecast(self, live: float, *, since_s: float | None) -> tuple[float, float] | None:
        """The mean, and by how much 95 % may exceed it."""
        count, x, y, xx, xy, yy = self._sums
        if count < _ENOUGH:
            return None
        mean_live, mean_line = x / count, y / count
        variance = xx / count - mean_live * mean_live
        turns = mean_line / max(1.0, mean_live)  # the slope of taking turns: company costs no more than that
        if variance > _SPREAD:
            fitted = slope = min(max(0.0, (xy / count - mean_live * mean_line) / variance), turns)
        else:  # the load hardly varied: with less of it, hope for the best, so that it is tried
            fitted, slope = 0.0, turns if live < mean_live else 0.0
        residual = max(0.0, yy / count - mean_line * mean_line - fitted * fitted * variance)
        line = max(0.0, mean_line + slope * (live - mean_live))
        # Where there is little to do, little can differ.
        margin = _DEVIATIONS * math.sqrt(residual) * min(1.0, line / mean_line if mean_line else 0.0)
        weight = min(_DELAYS, 1 + _DELAY * max(0.0, live - 1))
        return line + weight * self._prefill * self._uncached[_age(since_s)], margin
