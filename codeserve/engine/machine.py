"""What this process may use of the machine: CPUs, memory, GPUs; containers' limits included.

Control groups: ``cpu.max`` and ``memory.max`` of version 2, ``cpu.cfs_quota_us`` and
``memory.limit_in_bytes`` of version 1 (the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import psutil

__all__ = ["Gpu", "affinity", "available_memory", "core_of", "cpu_quota", "gpus"]

_CGROUPS = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60  # version 1 writes a number near 2**63 for "no limit"


@attrs.frozen
class Gpu:
    """An NVIDIA GPU; sizes in bytes, None where the driver tells none (memory that the CPU shares)."""

    name: str
    total: int | None  # for programs: without what the driver keeps for itself
    free: int | None
    capability: tuple[int, int] | None = None  # compute capability: 9.0 is (9, 0)


def affinity() -> set[int]:
    """The CPUs that this process may run on."""
    return set(os.sched_getaffinity(0))


def core_of(cpu: int, root: Path = Path("/sys/devices/system/cpu")) -> tuple[int, ...]:
    """The hardware threads of a CPU's core, itself included; itself alone where the kernel does not say."""
    try:
        text = (root / f"cpu{cpu}/topology/thread_siblings_list").read_text()
        return tuple(sorted(_parse_list(text)))
    except (OSError, ValueError):
        return (cpu,)


def _parse_list(text: str) -> Iterator[int]:
    """The numbers of a kernel list such as ``0-1,4``."""
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)


def _group_files(root: Path, membership: Path, controller: str, name: str) -> Iterator[Path]:
    """A limit's file in this process's control group and all above it."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        base = root / controllers if controllers else root
        if controllers and controller not in controllers.split(","):
            continue
        group = base / path.lstrip("/")
        while group != base and base in group.parents:
            yield group / name
            group = group.parent
        yield base / name
    yield root / controller / name  # version 1 in a container: the group is mounted as the root
    yield root / name


def _numbers(paths: Iterator[Path]) -> Iterator[tuple[Path, list[str]]]:
    for path in paths:
        try:
            yield path, path.read_text().split()
        except OSError:
            continue


def cpu_quota(root: Path = _CGROUPS, membership: Path = Path("/proc/self/cgroup")) -> float | None:
    """CPU time a second that the tightest control group grants, in CPUs; None without a limit."""
    quotas = []
    for _, words in _numbers(_group_files(root, membership, "cpu", "cpu.max")):
        if len(words) == 2 and words[0] != "max":
            quotas.append(int(words[0]) / int(words[1]))
    for path, words in _numbers(_group_files(root, membership, "cpu", "cpu.cfs_quota_us")):
        period = path.with_name("cpu.cfs_period_us")
        if words and int(words[0]) > 0 and period.is_file():
            quotas.append(int(words[0]) / int(period.read_text()))
    return min(quotas, default=None)


def available_memory(root: Path = _CGROUPS, membership: Path = Path("/proc/self/cgroup")) -> int:
    """Bytes that can still be had: what the system has available, and what the control groups leave."""
    room = [int(psutil.virtual_memory().available)]
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        for path, words in _numbers(_group_files(root, membership, "memory", limit)):
            usage = path.with_name(used)
            if not words or words[0] == "max" or int(words[0]) >= _UNLIMITED or not usage.is_file():
                continue
            room.append(int(words[0]) - int(usage.read_text()) + _reclaimable(path.with_name("memory.stat")))
    return max(0, min(room))


def _reclaimable(stat: Path) -> int:
    """File cache that the kernel gives back under pressure, in bytes; it counts as used otherwise."""
    try:
        fields = dict(line.split(maxsplit=1) for line in stat.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    return int(fields.get("inactive_file") or fields.get("total_inactive_file") or 0)


def gpus(program: str = "nvidia-smi", environ: Mapping[str, str] = os.environ) -> list[Gpu]:
    """The NVIDIA GPUs that an engine would see, in its order; empty without a driver.

    Their driver's own program lists all of the machine's; CUDA_VISIBLE_DEVICES chooses among them.
    """
    path = shutil.which(program)
    if path is None:
        return []
    fields = "uuid,name,memory.total,memory.reserved,memory.free,compute_cap"
    query = [path, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    found: list[tuple[str, Gpu]] = []
    for line in answer.splitlines():
        uuid, _, rest = line.partition(",")
        match [field.strip() for field in rest.rsplit(",", 4)]:
            case [name, *sizes, capability] if len(sizes) == 3 and all(map(_is_size, sizes)):
                total, reserved, free = map(_bytes, sizes)
                usable = None if total is None else total - (reserved or 0)
                found.append((uuid.strip(), Gpu(name, usable, free, _capability(capability))))
    return _visible(found, environ.get("CUDA_VISIBLE_DEVICES"))


def _is_size(field: str) -> bool:
    """A number of MiB, or the program's word for what it cannot tell, such as ``[N/A]``."""
    return field.isdigit() or field.startswith("[")


def _bytes(field: str) -> int | None:
    return int(field) << 20 if field.isdigit() else None


def _capability(field: str) -> tuple[int, int] | None:
    """Of the form ``9.0``; None for the program's word for what it cannot tell."""
    major, _, minor = field.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def _visible(found: list[tuple[str, Gpu]], chosen: str | None) -> list[Gpu]:
    """Those of CUDA_VISIBLE_DEVICES: numbers, or beginnings of uuids, up to the first that is not there.

    The rules are those of the CUDA C++ Programming Guide, "CUDA Environment Variables".
    """
    every = [gpu for _, gpu in found]
    if chosen is None or "MIG-" in chosen:  # the sizes of parts of a GPU are not told here
        return every
    visible: list[Gpu] = []
    for entry in map(str.strip, chosen.split(",")):
        if entry.isdigit() and int(entry) < len(every):
            visible.append(every[int(entry)])
            continue
        named = [gpu for uuid, gpu in found if entry.startswith("GPU-") and uuid.startswith(entry)]
        if len(named) != 1:
            break
        visible += named
    return visible
