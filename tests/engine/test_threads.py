"""Which CPUs the engine computes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve.engine.threads import ThreadPlan, plan_threads


def alone(cpu: int) -> tuple[int, ...]:
    """One thread a core."""
    return (cpu,)


def pairs(cpu: int) -> tuple[int, ...]:
    """Two threads a core, numbered one after the other."""
    return (cpu & ~1, cpu | 1)


def halves(cpu: int) -> tuple[int, ...]:
    """Two threads a core, the second ones numbered from 8 on."""
    return (cpu % 8, cpu % 8 + 8)


@pytest.mark.parametrize(
    ("cpus", "binding"),
    [((0,), "0"), ((0, 1), "0-1"), ((0, 1, 2, 3, 6), "0-3,6"), ((1, 3, 5), "1,3,5"), ((0, 2, 3), "0,2-3")],
)
def test_binding(cpus: tuple[int, ...], binding: str) -> None:
    """Neighbours are written as ranges, the others one by one."""
    assert ThreadPlan(cpus).binding == binding


@given(st.sets(st.integers(0, 300), min_size=1))
def test_binding_names_every_cpu_once(cpus: set[int]) -> None:
    """The text stands for exactly the CPUs of the plan."""
    named: list[int] = []
    for part in ThreadPlan(tuple(sorted(cpus))).binding.split(","):
        low, _, high = part.partition("-")
        named.extend(range(int(low), int(high or low) + 1))
    assert named == sorted(cpus)


def test_without_limit() -> None:
    """Without a limit every CPU computes, in order."""
    assert plan_threads({7, 2, 5}, siblings=alone).cpus == (2, 5, 7)


@pytest.mark.parametrize(("quota", "count"), [(0.1, 1), (1.0, 1), (1.9, 1), (2.5, 2), (4.0, 4), (99.0, 4)])
def test_quota(quota: float, count: int) -> None:
    """Never more threads than the quota pays for, and always one."""
    assert plan_threads(range(4), quota, alone).cpus == tuple(range(count))


def test_few_cores_use_every_thread() -> None:
    """Below four cores both threads of a core compute."""
    assert plan_threads(range(6), siblings=pairs).cpus == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("affinity", "siblings", "cpus"),
    [
        (range(8), pairs, (0, 2, 4, 6)),
        (range(16), halves, tuple(range(8))),
        (range(8, 16), halves, tuple(range(8, 16))),
        ([1, 3, 5, 7], pairs, (1, 3, 5, 7)),
    ],
)
def test_one_thread_a_core(
    affinity: Iterable[int], siblings: Callable[[int], tuple[int, ...]], cpus: tuple[int, ...]
) -> None:
    """From four cores on one thread a core computes: the first that this process may use."""
    assert plan_threads(affinity, siblings=siblings).cpus == cpus


def test_quota_counts_threads_used() -> None:
    """With a quota below the number of cores only so many of the cores are used."""
    assert plan_threads(range(16), 3.0, halves).cpus == (0, 1, 2)


def test_no_cpu_knows_its_siblings() -> None:
    """A kernel that tells nothing of a CPU's core makes it one of its own."""
    assert plan_threads(range(4), siblings=lambda _: ()).cpus == (0, 1, 2, 3)
