"""Runs the command line as users do: in a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys

import attrs

__all__ = ["Finished", "codeserve"]


@attrs.frozen
class Finished:
    """What a command left behind."""

    status: int
    out: str
    err: str


async def codeserve(*args: str, stdin: bytes = b"", **env: str) -> Finished:
    """Run ``codeserve ARGS`` without the caller's own CODESERVE_* variables."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CODESERVE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "codeserve",
        *args,
        env={**inherited, "COLUMNS": "200", "NO_COLOR": "1", **env},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(120):
            out, err = await process.communicate(stdin)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Finished(process.returncode or 0, out.decode(), err.decode())
