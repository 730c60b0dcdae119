"""What the machine grants, read out of folders made like the kernel's."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from codeserve.engine.machine import Gpu, affinity, available_memory, core_of, cpu_quota, gpus

GIB = 1 << 30


def write(path: Path, text: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "cgroup").mkdir()
    return tmp_path / "cgroup"


@pytest.fixture
def v2(tmp_path: Path) -> Path:
    """This process is in the group /a/b of version 2."""
    return write(tmp_path / "self", "0::/a/b")


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    """This process is in the groups /a of version 1."""
    return write(tmp_path / "self", "5:memory:/a\n4:cpu,cpuacct:/a\n1:name=systemd:/a")


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 8 GiB free."""

    class Memory:
        available = 8 * GIB

    monkeypatch.setattr(psutil, "virtual_memory", Memory)


def test_affinity() -> None:
    """The CPUs are those that this process is bound to."""
    before = os.sched_getaffinity(0)
    one = {min(before)}
    os.sched_setaffinity(0, one)
    try:
        assert affinity() == one
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("text", "threads"), [("0", (0,)), ("0,8", (0, 8)), ("0-3", (0, 1, 2, 3)), ("0-1,4", (0, 1, 4))]
)
def test_core_of(tmp_path: Path, text: str, threads: tuple[int, ...]) -> None:
    """A core's threads are read from the kernel's list."""
    write(tmp_path / "cpu0/topology/thread_siblings_list", text)
    assert core_of(0, tmp_path) == threads


@pytest.mark.parametrize("text", ["", "x", "0-x"])
def test_core_of_odd_list(tmp_path: Path, text: str) -> None:
    """A list that cannot be read makes the CPU a core of its own."""
    write(tmp_path / "cpu3/topology/thread_siblings_list", text)
    assert core_of(3, tmp_path) == (3,)


def test_core_of_unknown_cpu(tmp_path: Path) -> None:
    """A CPU that the kernel tells nothing of is a core of its own."""
    assert core_of(3, tmp_path) == (3,)


def test_no_quota(root: Path, v2: Path) -> None:
    """No control groups, or groups without a limit, are no limit."""
    assert cpu_quota(root, root / "none") is None
    write(root / "a/b/cpu.max", "max 100000")
    write(root / "a/cpu.max", "")
    assert cpu_quota(root, v2) is None


def test_tightest_quota(root: Path, v2: Path) -> None:
    """The tightest limit of the group and those above it counts, in CPUs."""
    write(root / "a/b/cpu.max", "400000 100000")
    assert cpu_quota(root, v2) == 4.0
    write(root / "a/cpu.max", "75000 50000")
    assert cpu_quota(root, v2) == 1.5


def test_quota_of_another_group(root: Path, v2: Path) -> None:
    """The limit of a group beside this process's does not count."""
    write(root / "a/c/cpu.max", "100000 100000")
    assert cpu_quota(root, v2) is None


def test_quota_in_a_container(root: Path, tmp_path: Path) -> None:
    """In a container the group's own path is not there; its files are mounted as the root."""
    write(root / "cpu.max", "200000 100000")
    assert cpu_quota(root, write(tmp_path / "self", "0::/docker/1234")) == 2.0


def test_quota_of_version_1(root: Path, v1: Path) -> None:
    """Version 1 keeps quota and period in two files under the controllers' names."""
    group = root / "cpu,cpuacct/a"
    write(group / "cpu.cfs_quota_us", -1)
    write(group / "cpu.cfs_period_us", 100000)
    assert cpu_quota(root, v1) is None
    write(group / "cpu.cfs_quota_us", 250000)
    assert cpu_quota(root, v1) == 2.5


def test_quota_of_version_1_in_a_container(root: Path, tmp_path: Path) -> None:
    """In a container of version 1 the controller's own folder holds the limit."""
    write(root / "cpu/cpu.cfs_quota_us", 50000)
    write(root / "cpu/cpu.cfs_period_us", 100000)
    assert cpu_quota(root, write(tmp_path / "self", "4:cpu:/docker/1234")) == 0.5


@pytest.mark.usefixtures("memory")
def test_memory_without_limit(root: Path, v2: Path) -> None:
    """Without a limit all that the system has available can be had."""
    write(root / "a/b/memory.max", "max")
    write(root / "a/b/memory.current", GIB)
    assert available_memory(root, v2) == 8 * GIB
    assert available_memory(root / "none", root / "none") == 8 * GIB


@pytest.mark.usefixtures("memory")
def test_memory_limit(root: Path, v2: Path) -> None:
    """What a group's limit leaves counts, the tightest of all."""
    write(root / "a/memory.max", 4 * GIB)
    write(root / "a/memory.current", GIB)
    assert available_memory(root, v2) == 3 * GIB
    write(root / "a/b/memory.max", 2 * GIB)
    write(root / "a/b/memory.current", GIB)
    assert available_memory(root, v2) == GIB


@pytest.mark.usefixtures("memory")
def test_memory_limit_above_what_is_free(root: Path, v2: Path) -> None:
    """A limit does not make memory that the system does not have."""
    write(root / "a/memory.max", 64 * GIB)
    write(root / "a/memory.current", 0)
    assert available_memory(root, v2) == 8 * GIB


@pytest.mark.usefixtures("memory")
def test_file_cache_can_be_had(root: Path, v2: Path) -> None:
    """File cache counts as used, but is given back."""
    write(root / "a/memory.max", 4 * GIB)
    write(root / "a/memory.current", 4 * GIB)
    write(root / "a/memory.stat", f"anon 5\ninactive_file {GIB}\nactive_file 7")
    assert available_memory(root, v2) == GIB


@pytest.mark.usefixtures("memory")
def test_memory_used_beyond_its_limit(root: Path, v2: Path) -> None:
    """A group beyond its limit leaves nothing, not less; odd statistics do no harm."""
    write(root / "a/memory.max", GIB)
    write(root / "a/memory.current", 2 * GIB)
    write(root / "a/memory.stat", "odd")
    assert available_memory(root, v2) == 0


@pytest.mark.usefixtures("memory")
def test_memory_limit_of_version_1(root: Path, v1: Path) -> None:
    """Version 1 writes a number near 2**63 for no limit, and its cache with that of the groups below."""
    group = root / "memory/a"
    write(group / "memory.limit_in_bytes", 9223372036854771712)
    write(group / "memory.usage_in_bytes", GIB)
    assert available_memory(root, v1) == 8 * GIB
    write(group / "memory.limit_in_bytes", 3 * GIB)
    write(group / "memory.stat", f"total_inactive_file {GIB // 2}")
    assert available_memory(root, v1) == 2 * GIB + GIB // 2


def program(folder: Path, script: str) -> str:
    path = write(folder / "nvidia-smi", f"#!/bin/sh\n{script}")
    path.chmod(0o755)
    return str(path)


def test_gpus(tmp_path: Path) -> None:
    """Names, a comma in them too, and sizes, which come in MiB; what the driver keeps is nobody's."""
    rows = ["GPU-1, NVIDIA H200, 143771, 616, 143155, 9.0", "GPU-2, A, B, 24564, [N/A], 10, [N/A]"]
    smi = program(tmp_path, "\n".join(f"echo '{row}'" for row in rows))
    assert gpus(smi, {}) == [
        Gpu("NVIDIA H200", 143155 << 20, 143155 << 20, (9, 0)),
        Gpu("A, B", 24564 << 20, 10 << 20, None),
    ]


def test_gpu_that_does_not_tell_its_memory(tmp_path: Path) -> None:
    """A GPU that shares the CPU's memory is there all the same, with sizes that are not known."""
    smi = program(tmp_path, "echo 'GPU-1, NVIDIA GB10, [N/A], [N/A], [N/A], 12.1'")
    assert gpus(smi, {}) == [Gpu("NVIDIA GB10", None, None, (12, 1))]


def test_gpus_are_asked_for_what_is_read(tmp_path: Path) -> None:
    """The program is asked for uuid, name, memory and compute capability, without units."""
    smi = program(tmp_path, f'echo "$@" > {tmp_path / "asked"}')
    assert gpus(smi) == []
    asked = (tmp_path / "asked").read_text()
    fields = "uuid,name,memory.total,memory.reserved,memory.free,compute_cap"
    assert asked == f"--query-gpu={fields} --format=csv,noheader,nounits\n"


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ("1", ["B"]),
        ("2,0", ["C", "A"]),
        (" GPU-b2 ", ["B"]),
        ("GPU-b", []),  # two begin so
        ("0,7,1", ["A"]),  # CUDA goes no further than the first that is not there
        ("", []),
        ("-1", []),
        ("MIG-1234", ["A", "B", "C"]),  # a part of one, of which nothing is told
    ],
)
def test_gpus_that_are_chosen(tmp_path: Path, chosen: str, names: list[str]) -> None:
    """Of all that the driver lists those count that the engine would see, in its order."""
    rows = ["GPU-a1, A, 8, 0, 8, 9.0", "GPU-b2, B, 8, 0, 8, 9.0", "GPU-b3, C, 8, 0, 8, 9.0"]
    smi = program(tmp_path, "\n".join(f"echo '{row}'" for row in rows))
    assert [gpu.name for gpu in gpus(smi, {"CUDA_VISIBLE_DEVICES": chosen})] == names


@pytest.mark.parametrize(
    "script",
    [
        "exit 9",
        "true",
        "echo 'No devices were found'",
        "echo; echo x,y",
        "echo 'GPU-1, GPU, a, b, c, 9.0'",
    ],
)
def test_no_gpus(tmp_path: Path, script: str) -> None:
    """A driver that fails, or says something else, is a machine without GPUs."""
    assert gpus(program(tmp_path, script)) == []


def test_no_driver(tmp_path: Path) -> None:
    """Without the driver's program there are no GPUs."""
    assert gpus(str(tmp_path / "none")) == []


def test_program_that_does_not_run(tmp_path: Path) -> None:
    """A program that the system cannot run is no driver."""
    path = write(tmp_path / "nvidia-smi", "#!/none/at/all")
    path.chmod(0o755)
    assert gpus(str(path)) == []
