"""A real Kate on a screen that nobody sees, with keys as from a keyboard."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

__all__ = ["Kate", "missing", "running"]

ROOT = Path(__file__).parents[2]

PROGRAMS = ("kate", "Xvfb", "xdotool", "dbus-run-session")

# Without these Kate shows a window of its own before the file.
CONFIG = """\
[General]
Show welcome view for new window=false
[Kate Plugins]
lspclientplugin=true
[lspclient]
AllowedServerCommandLines={command}
"""


def missing() -> str:
    """What is not installed, "" for nothing."""
    return next((f"{name} is not installed" for name in PROGRAMS if shutil.which(name) is None), "")


def _configure(home: Path, url: str) -> None:
    """Kate's settings, as a user makes them in its dialogs."""
    start = home / "codeserve-lsp"
    start.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -m codeserve_lsp.cli --stdio\n")
    start.chmod(0o700)
    server = {
        "command": [str(start)],
        "highlightingModeRegex": "^Python$",
        "initializationOptions": {"serverUrl": url},
    }
    folder = home / ".config" / "kate" / "lspclient"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps({"servers": {"python": server}}))
    (home / ".config" / "katerc").write_text(CONFIG.format(command=start))
    (home / "run").mkdir(mode=0o700)


class Kate:
    """One run. Keys go to whatever window has the focus."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = environ

    async def keys(self, *arguments: str) -> None:
        """Have xdotool do something. Raises: AssertionError when it cannot."""
        process = await asyncio.create_subprocess_exec("xdotool", *arguments, env=self._environ)
        assert await process.wait() == 0, arguments

    async def write(self, text: str) -> None:
        """Type behind the end of the document."""
        await self.keys("key", "ctrl+End")
        await self.keys("type", "--delay", "50", text)


@contextlib.asynccontextmanager
async def running(home: Path, file: Path, url: str) -> AsyncIterator[Kate]:
    """Kate with ``file`` open and its window in front."""
    _configure(home, url)
    read, write = os.pipe()
    screen = await asyncio.create_subprocess_exec(
        *("Xvfb", "-displayfd", str(write), "-screen", "0", "1200x800x24", "-nolisten", "tcp"),
        pass_fds=(write,),
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with os.fdopen(read) as display:
            number = (await asyncio.to_thread(display.readline)).strip()
        paths = [str(ROOT), str(ROOT / "lsp"), os.environ.get("PYTHONPATH", "")]
        environ = os.environ | {
            "DISPLAY": f":{number}",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(home / "run"),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }
        editor = await asyncio.create_subprocess_exec(
            *("dbus-run-session", "--", "kate", "--block", "--new", str(file)),
            env=environ,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            kate = Kate(environ)
            async with asyncio.timeout(60):
                await kate.keys("search", "--sync", "--onlyvisible", "--name", file.name, "windowfocus")
            yield kate
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(editor.pid, 15)
            await editor.wait()
    finally:
        screen.terminate()
        await screen.wait()
