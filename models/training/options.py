"""What a run is told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from training.schedule import Schedule

__all__ = ["RunOptions"]

_ROW_TOKENS = 128  # a row is a multiple of
_SEEDS = 2**63  # what torch and numpy both take


@dataclass(frozen=True)
class RunOptions:
    """One run. ``run`` is its folder: checkpoints, log and in the end the model.

    Raises: ValueError when a number is out of its range.
    """

    data: Path
    run: Path
    tokenizer: Path
    schedule: Schedule
    size: str = "mini"
    seed: int = 1
    rows: int = 64  # a step, over all processes
    row_tokens: int = 4096
    micro_rows: int = 32  # at once on one GPU
    rate: float = 1.0  # scales the learning rates
    workers: int = 12
    attention: str = "varlen"
    init: Path | None = None
    int8: bool = False  # train what the INT8 form computes
    compile: bool = True
    log_every: int = 20  # steps
    validate_every: int = 200
    save_every_s: float = 120.0
    stop_after_s: float = 0.0  # of this part of the run; 0: at its end only

    def __post_init__(self) -> None:
        for option, number in (("--rows", self.rows), ("--micro-rows", self.micro_rows)):
            if number < 1:
                raise ValueError(f"{option} is {number}: at least 1 is needed")
        if self.row_tokens < 1 or self.row_tokens % _ROW_TOKENS:
            raise ValueError(f"--row-tokens is {self.row_tokens}: give a multiple of {_ROW_TOKENS}")
        if not 0 < self.rate < math.inf:
            raise ValueError(f"--rate is {self.rate}: give a number above 0")
        if not 0 <= self.seed < _SEEDS:
            raise ValueError(f"--seed is {self.seed}: give a number from 0 to {_SEEDS - 1}")
        if self.workers < 0:
            raise ValueError(f"--workers is {self.workers}: give 0 or more")
        if not self.stop_after_s >= 0:
            raise ValueError(
                f"--stop-after is {self.stop_after_s / 60:g}: give minutes, or 0 for no such end"
            )

    def check_machine(self, processes: int, *, gpu: bool) -> None:
        """Raises: ValueError when the machine cannot run it."""
        if self.rows < processes:
            raise ValueError(f"--rows is {self.rows}: each of the {processes} processes needs one")
        if self.attention == "varlen" and not gpu:
            raise ValueError("--attention varlen needs a GPU, and there is none: use --attention dense")
