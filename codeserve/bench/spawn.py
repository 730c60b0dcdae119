"""A server of its own for a benchmark: started, waited for, measured and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

import attrs

from codeserve.bench.machine import MemoryWatch
from codeserve.bench.scrape import get
from codeserve.errors import CodeserveError

__all__ = ["Spawned", "spawned"]

_READY_S = 900.0  # compiling a large model for a GPU takes minutes
_STOP_S = 30.0
_KEPT_VARIABLES = ("CODESERVE_MODELS_DIR",)


@attrs.frozen
class Spawned:
    """A running server: its address, its memory since its start, and the seconds it took to be ready."""

    url: str
    memory: MemoryWatch
    ready_s: float


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _environment() -> dict[str, str]:
    """The environment without settings that would make the figures those of another server."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CODESERVE_") or name in _KEPT_VARIABLES
    }


@contextlib.asynccontextmanager
async def spawned(model: str, config: Path | None = None, *, dummy: bool = False) -> AsyncIterator[Spawned]:
    """Run ``codeserve serve`` on a free port of this machine, with ``config`` or with no settings file.

    With ``dummy`` its model's weights are made up.

    Raises: CodeserveError with the server's last line when it does not come up.
    """
    with tempfile.TemporaryDirectory(prefix="codeserve-bench-") as folder:
        empty = Path(folder) / "codeserve.toml"
        empty.touch()
        port = _free_port()
        url = f"ws://127.0.0.1:{port}"
        command = [sys.executable, "-m", "codeserve", "serve", "--config", str(config or empty)]
        command += ["--host", "127.0.0.1", "--port", str(port), "--model", model]
        command += ["--load-format", "dummy"] if dummy else []
        with tempfile.TemporaryFile() as log:
            start = time.monotonic()
            process = await asyncio.create_subprocess_exec(
                *command,
                env=_environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl+C is for the benchmark, which then stops the server itself
                start_new_session=True,
            )
            memory = MemoryWatch(process.pid)
            watching = asyncio.create_task(memory.run())
            try:
                await _wait_ready(process, url, log)
                yield Spawned(url, memory, time.monotonic() - start)
            finally:
                watching.cancel()
                await _stop(process)


async def _wait_ready(process: asyncio.subprocess.Process, url: str, log: IO[bytes]) -> None:
    deadline = time.monotonic() + _READY_S
    while (await get(url, "/readyz")).status != 200:
        if process.returncode is not None:
            raise CodeserveError(f"the server did not start: {_last_line(log)}")
        if time.monotonic() > deadline:
            raise CodeserveError(f"the server was not ready within {_READY_S:.0f} s: {_last_line(log)}")
        await asyncio.sleep(0.1)


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("codeserve: ") if lines else "it said nothing"


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(_STOP_S):
            await process.wait()
    except TimeoutError:
        # its own session, so this reaches what it started too, and nothing else
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
