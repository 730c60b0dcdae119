"""How long a run lasts and how large its steps are."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Schedule"]

_WARM_UP_STEPS = 20
_DECAY = 0.6  # of the run: the learning rate falls in a line to zero over its last part


@dataclass(frozen=True)
class Schedule:
    """The end of a run: after so many steps or minutes of training, one of them 0.

    Raises: ValueError when it is not so.
    """

    steps: int = 0
    minutes: float = 0.0

    def __post_init__(self) -> None:
        if self.steps < 0 or not 0 <= self.minutes < math.inf:
            raise ValueError(
                f"--steps {self.steps}, --minutes {self.minutes}: give one of them, a number above 0"
            )
        if (self.steps > 0) == (self.minutes > 0):
            raise ValueError("a run ends after --steps or after --minutes: give one of them")

    def done(self, step: int, seconds: float) -> float:
        """How much of the run is over, 0 to 1. By minutes it is not the same twice; by steps it is."""
        return min(1.0, step / self.steps if self.steps else seconds / (60 * self.minutes))

    def scale(self, step: int, seconds: float) -> float:
        """Of the learning rates: a short warm-up, level, then down to 0."""
        decay = min(1.0, (1.0 - self.done(step, seconds)) / _DECAY)
        return min(decay, (step + 1) / _WARM_UP_STEPS)
