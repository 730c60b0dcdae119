"""Ending processes that an engine consists of, by process group."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterable
from multiprocessing import resource_tracker

__all__ = ["kill_groups", "stop_tracker", "wait_gone"]


def kill_groups(groups: Iterable[int]) -> None:
    """End every process of the groups at once. Groups that are gone are ignored."""
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def wait_gone(groups: Iterable[int], seconds: float) -> bool:
    """Wait until the groups have no processes left, at most ``seconds``; returns whether they are gone."""
    groups = list(groups)
    deadline = time.monotonic() + seconds
    while any(map(_alive, groups)):
        if time.monotonic() >= deadline:
            return False
        multiprocessing.active_children()  # takes up the exit codes of those that have ended
        time.sleep(0.01)
    return True


def stop_tracker() -> None:
    """End Python's helper process for spawned children, unless there are some.

    It would live as long as this process; it comes back by itself when it is needed again.
    """
    stop = getattr(getattr(resource_tracker, "_resource_tracker", None), "_stop", None)
    if callable(stop) and not multiprocessing.active_children():
        stop()
