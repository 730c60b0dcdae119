"""Turns speculation off while it costs more than it brings: by load, and by how much of it is accepted.

Runs in the engine's process. vLLM's scheduler looks up how many tokens to draft by batch size in a list
(`dynamic_sd_lookup`, vllm/v1/core/sched/scheduler.py); a `DraftSchedule` takes that list's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

__all__ = ["AUTO_MAX_BATCH", "AUTO_MIN_ACCEPTED", "DraftSchedule", "install"]

# For `speculation = "auto"`: with more sequences than this a step computes rather than waits for memory, so
# that verifying drafts takes time; with fewer accepted a step than this, drafting takes more than it saves.
AUTO_MAX_BATCH = 16
AUTO_MIN_ACCEPTED = 0.3

_SMOOTHING = 0.02  # of a new step in the running mean: it remembers about fifty
_LEAST_STEPS = 50  # before it is judged, and so long does a trial last
_PAUSE_STEPS = 500  # without drafts until the next trial


@attrs.define
class DraftSchedule:
    """How many tokens to draft by batch size, and 0 while too few of them are accepted.

    ``lookup`` is vLLM's list, indexed by batch size. ``min_accepted`` is a mean of accepted tokens for each
    sequence and step in which some were drafted.
    """

    lookup: Sequence[int]
    min_accepted: float
    _mean: float = 0.0
    _observed: int = 0  # since the trial began
    _paused: int = 0  # steps left without drafts

    @property
    def paused(self) -> bool:
        """Whether it is turned off because too little was accepted."""
        return self._paused > 0

    def __getitem__(self, batch: int) -> int:
        """Tokens to draft for each sequence of the next step; called once a step."""
        if self._paused:
            self._paused -= 1
            if not self._paused:
                self._observed = 0
            return 0
        return self.lookup[batch]

    def observe(self, accepted: int) -> None:
        """Note that so many of one sequence's drafted tokens were accepted in a step."""
        self._observed += 1
        weight = max(_SMOOTHING, 1 / self._observed)  # a plain mean at first
        self._mean += weight * (accepted - self._mean)
        if self._observed >= _LEAST_STEPS and self._mean < self.min_accepted and not self._paused:
            self._paused = _PAUSE_STEPS


def install(scheduler: type[Any], min_accepted: float) -> None:
    """Give every scheduler of the class ``scheduler`` a `DraftSchedule` for its list, if it has one."""
    begin, stats = scheduler.__init__, scheduler.make_spec_decoding_stats

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        if self.dynamic_sd_lookup is not None:
            self.dynamic_sd_lookup = DraftSchedule(self.dynamic_sd_lookup, min_accepted)

    def make_spec_decoding_stats(
        self: Any, so_far: Any, num_draft_tokens: int, num_accepted_tokens: int, *args: Any, **kwargs: Any
    ) -> Any:
        if isinstance(self.dynamic_sd_lookup, DraftSchedule) and num_draft_tokens:
            self.dynamic_sd_lookup.observe(num_accepted_tokens)
        return stats(self, so_far, num_draft_tokens, num_accepted_tokens, *args, **kwargs)

    scheduler.__init__ = __init__
    scheduler.make_spec_decoding_stats = make_spec_decoding_stats
