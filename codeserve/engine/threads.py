"""Which CPUs the engine's threads are bound to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from codeserve.engine.machine import core_of

__all__ = ["ThreadPlan", "plan_threads"]

_WHOLE_CORES_FROM = 4  # cores; below, every hardware thread is needed


@attrs.frozen
class ThreadPlan:
    """One compute thread a CPU."""

    cpus: tuple[int, ...]

    @property
    def binding(self) -> str:
        """The CPUs as VLLM_CPU_OMP_THREADS_BIND takes them, e.g. ``0-3,6``."""
        ranges: list[list[int]] = []
        for cpu in self.cpus:
            if ranges and ranges[-1][1] == cpu - 1:
                ranges[-1][1] = cpu
            else:
                ranges.append([cpu, cpu])
        return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in ranges)


def plan_threads(
    affinity: Iterable[int],
    quota: float | None = None,
    siblings: Callable[[int], tuple[int, ...]] = core_of,
) -> ThreadPlan:
    """Choose CPUs out of those that the process may use.

    ``quota`` is CPU time a second in CPUs (a container's limit): more threads than that are throttled all at
    once in the middle of a token. ``siblings`` gives the hardware threads of a CPU's core: from four cores on
    one thread a core is used, since two share the matrix unit.
    """
    cpus = sorted(affinity)
    allowed = len(cpus) if quota is None else max(1, min(len(cpus), int(quota)))
    firsts = [cpu for cpu in cpus if cpu == min(set(siblings(cpu)).intersection(cpus), default=cpu)]
    if len(firsts) >= _WHOLE_CORES_FROM:
        cpus = firsts
    return ThreadPlan(tuple(cpus[:allowed]))
