"""Kate, which knows no inline completion: what is suggested is an entry of the completion menu."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.editors.kate import missing, running
from tests.lsp.wire_server import WireServer


# Kate and its display come from the system, not from a lock file; the reason names what is missing.
@pytest.mark.skipif(bool(missing()), reason=missing() or "installed")
async def test_completion_goes_in(tmp_path: Path) -> None:
    """Typing brings the entry, the return key puts it in; the word before the cursor is not written twice."""
    file = tmp_path / "a.py"
    file.write_text("def compute(a, b):\n    return a + b\n\n\n")
    async with WireServer("pute(1, 2)") as wire, running(tmp_path, file, wire.url) as kate:
        await wire.wait_for("prewarm")
        async with asyncio.timeout(60):
            while "x = compute(1, 2)\n" not in file.read_text():
                await kate.write("x = com")
                # when the menu comes up cannot be seen from here; before that a new line goes in
                await asyncio.sleep(2)
                await kate.keys("key", "Return", "ctrl+s")
                await asyncio.sleep(0.5)
        [body, *_] = await wire.wait_for("complete")
        assert body["prefix"].endswith("\n\nx = com")
        assert body["path"] == "a.py"
