"""The processes of a run, one a GPU, and the time that they share."""

from __future__ import annotations

import os
import time

import torch
import torch.distributed as dist
from torch import Tensor

from training.checkpoint import Progress

__all__ = ["Clock", "Team"]


class Team:
    """The processes of a run."""

    def __init__(self) -> None:
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        cuda = torch.cuda.is_available()
        self.device = torch.device(f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if cuda else "cpu")
        if cuda:
            torch.cuda.set_device(self.device)
        if self.size > 1:
            dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")

    def average(self, tensors: list[Tensor]) -> None:
        if self.size > 1:
            flat = torch.cat([tensor.flatten() for tensor in tensors])
            dist.all_reduce(flat)
            flat /= self.size
            parts = flat.split([tensor.numel() for tensor in tensors])
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def agree(self, seconds: float) -> float:
        """The first process's clock, for all. It travels past the GPUs, whose queues it would drain."""
        if self.size == 1:
            return seconds
        shared = torch.tensor([seconds], dtype=torch.float64)
        dist.broadcast(shared, 0)
        return float(shared.item())


class Clock:
    """Adds the time of each step to the progress, as the first process sees it, and knows the pace."""

    def __init__(self, progress: Progress, team: Team) -> None:
        self._progress, self._team = progress, team
        self._last = self._reported = time.monotonic()
        self._tokens = progress.tokens
        self._event: torch.cuda.Event | None = None

    def tick(self) -> None:
        if self._team.device.type == "cuda":
            # One step may be queued while another runs, and no more: the clock is to be right, and the
            # GPU not to wait.
            before, self._event = self._event, torch.cuda.Event()
            self._event.record()
            if before is not None:
                before.synchronize()
        now = time.monotonic()
        self._progress.seconds += self._team.agree(now - self._last)
        self._last = now

    def pace(self) -> float:
        """Tokens a second since the last call."""
        now = time.monotonic()
        tokens = self._progress.tokens - self._tokens
        seconds, self._reported, self._tokens = now - self._reported, now, self._progress.tokens
        return tokens / max(seconds, 1e-9)
