"""Limits of the machine and of containers."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from codeserve.engine.machine import affinity, available_memory, core_of, cpu_quota, gpus

GIB = 1 << 30


def put(root: Path, **files: str) -> Path:
    """Files of a control group; ``__`` in a name stands for a dot."""
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name.replace("__", ".")).write_text(text + "\n")
    return root


def membership(folder: Path, text: str) -> Path:
    path = folder / "membership"
    path.write_text(text)
    return path


def test_affinity_is_this_process() -> None:
    """The CPUs are those that this process may run on."""
    assert affinity() == os.sched_getaffinity(0)


@pytest.mark.parametrize(("text", "quota"), [("max 100000", None), ("150000 100000", 1.5)])
def test_quota_of_version_2(tmp_path: Path, text: str, quota: float | None) -> None:
    """The quota is CPU time a period, over the period."""
    root = put(tmp_path / "cgroup", cpu__max=text)
    assert cpu_quota(root, membership(tmp_path, "0::/\n")) == quota


def test_the_tightest_group_counts(tmp_path: Path) -> None:
    """A limit of any group above holds as well."""
    root = put(tmp_path / "cgroup", cpu__max="max 100000")
    put(root / "a", cpu__max="100000 100000")
    put(root / "a" / "b", cpu__max="400000 100000")
    assert cpu_quota(root, membership(tmp_path, "0::/a/b\n")) == 1.0


def test_quota_of_version_1(tmp_path: Path) -> None:
    """Version 1 keeps quota and period in two files, -1 for none."""
    root = tmp_path / "cgroup"
    group = put(root / "cpu,cpuacct" / "a", cpu__cfs_quota_us="250000", cpu__cfs_period_us="100000")
    where = membership(tmp_path, "3:cpu,cpuacct:/a\n2:memory:/a\n")
    assert cpu_quota(root, where) == 2.5
    put(group, cpu__cfs_quota_us="-1")
    assert cpu_quota(root, where) is None


def test_no_control_groups(tmp_path: Path) -> None:
    """Without control groups there is no limit but the system's."""
    assert cpu_quota(tmp_path, tmp_path / "none") is None
    available = available_memory(tmp_path, tmp_path / "none")
    assert available == pytest.approx(psutil.virtual_memory().available, rel=0.2)


def test_memory_of_version_2(tmp_path: Path) -> None:
    """What the group has left counts, file cache that can be given back included."""
    stat = f"anon 1\ninactive_file {GIB // 4}"
    root = put(tmp_path, memory__max=str(GIB), memory__current=str(GIB // 2), memory__stat=stat)
    assert available_memory(root, membership(tmp_path, "0::/\n")) == GIB * 3 // 4


def test_memory_of_version_1(tmp_path: Path) -> None:
    """Version 1 has other names, and a huge number for no limit."""
    root = tmp_path / "cgroup"
    names = {"memory__limit_in_bytes": str(GIB), "memory__usage_in_bytes": str(GIB // 2)}
    put(root / "memory", **names)
    where = membership(tmp_path, "2:memory:/\n")
    assert available_memory(root, where) == GIB // 2
    put(root / "memory", memory__limit_in_bytes=str((1 << 63) - 4096))
    assert available_memory(root, where) > GIB // 2


def test_memory_used_up(tmp_path: Path) -> None:
    """A group over its limit has nothing left, not less than nothing."""
    root = put(tmp_path, memory__max="100", memory__current="200")
    assert available_memory(root, membership(tmp_path, "0::/\n")) == 0


def test_threads_of_a_core(tmp_path: Path) -> None:
    """The kernel's list gives a core's hardware threads; without it a CPU is a core."""
    put(tmp_path / "cpu1" / "topology", thread_siblings_list="1,5-6")
    assert core_of(1, tmp_path) == (1, 5, 6)
    assert core_of(2, tmp_path) == (2,)


def script(folder: Path, text: str) -> str:
    path = folder / "smi"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_gpus_are_listed(tmp_path: Path) -> None:
    """Names may hold commas; sizes come in MiB; cards that report none are left out."""
    lines = "echo 'NVIDIA H200, 143771, 143000'; echo 'A, B, 24576, 100'; echo 'Odd, [N/A], [N/A]'"
    first, second = gpus(script(tmp_path, lines))
    assert (first.name, first.total, first.free) == ("NVIDIA H200", 143771 << 20, 143000 << 20)
    assert (second.name, second.free) == ("A, B", 100 << 20)


def test_no_gpus(tmp_path: Path) -> None:
    """No driver, or one that fails, is no GPU."""
    assert gpus(str(tmp_path / "none")) == []
    assert gpus(script(tmp_path, "exit 9")) == []
