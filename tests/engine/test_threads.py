"""Which CPUs the engine computes on."""

from __future__ import annotations

import pytest

from codeserve.engine.threads import plan_threads


def alone(cpu: int) -> tuple[int, ...]:
    return (cpu,)


def paired(cpu: int) -> tuple[int, ...]:
    """Hardware threads as on most machines: 0 and 8 share a core, 1 and 9, …"""
    return (cpu % 8, cpu % 8 + 8)


@pytest.mark.parametrize(
    ("cpus", "quota", "binding"),
    [
        ({0, 1}, None, "0-1"),
        ({0}, None, "0"),
        ({3, 1, 0, 7}, None, "0-1,3,7"),
        ({0, 1, 2, 3}, 2.0, "0-1"),
        ({0, 1, 2, 3}, 2.9, "0-1"),
        ({4, 5}, 0.5, "4"),
        ({4, 5}, 64.0, "4-5"),
    ],
)
def test_affinity_and_quota(cpus: set[int], quota: float | None, binding: str) -> None:
    """A thread for each CPU of the process, but not more than its quota feeds, and at least one."""
    assert plan_threads(cpus, quota, alone).binding == binding


def test_one_thread_a_core() -> None:
    """Where there are cores enough, one hardware thread of each is used."""
    assert plan_threads(range(16), None, paired).binding == "0-7"
    assert plan_threads(range(8, 16), None, paired).binding == "8-15"


def test_few_cores_use_all_threads() -> None:
    """On two cores every hardware thread counts."""
    assert plan_threads({0, 1, 8, 9}, None, paired).binding == "0-1,8-9"
