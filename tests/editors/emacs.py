"""A real Emacs without a window, with one of its LSP clients."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

__all__ = ["CLIENTS", "complete", "missing"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

# Where Debian's packages elpa-eglot and elpa-lsp-mode have them.
PACKAGES = Path("/usr/share/emacs/site-lisp/elpa-src")
CLIENTS = ("eglot", "lsp-mode")


def missing(client: str) -> str:
    """What is not installed, "" for nothing."""
    if shutil.which("emacs") is None:
        return "Emacs is not installed"
    return "" if list(PACKAGES.glob(f"{client}-*")) else f"{client} is not installed"


async def complete(client: str, file: Path, url: str, typed: str) -> str:
    """Open ``file``, type at its end and complete there. Gives the buffer. Raises: AssertionError."""
    out = file.with_suffix(".out")
    paths = [str(ROOT), str(ROOT / "lsp"), os.environ.get("PYTHONPATH", "")]
    environ = os.environ | {
        "SERVER": "\n".join([sys.executable, "-m", "codeserve_lsp.cli", "--stdio"]),
        "URL": url,
        "FILE": str(file),
        "OUT": str(out),
        "TEXT": typed,
        "HOME": str(file.parent),
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    process = await asyncio.create_subprocess_exec(
        *("emacs", "--batch", "--load", str(HERE / f"{client}.el")),
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(60):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, said.decode(errors="replace")[-2_000:]
    return out.read_text(encoding="utf-8")
