"""Emacs with Eglot and with lsp-mode: what is suggested is an entry of the completion menu and goes in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.editors.emacs import CLIENTS, complete, missing
from tests.lsp.wire_server import WireServer

pytestmark = [pytest.mark.parametrize("client", CLIENTS)]


@pytest.fixture(autouse=True)
def _installed(client: str) -> None:
    """The editor comes from the system's packages, which not every developer has."""
    if lacking := missing(client):
        pytest.skip(lacking)


@pytest.fixture
async def wire() -> AsyncIterator[WireServer]:
    async with WireServer() as server:
        yield server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text("def add(a, b):\n")
    (tmp_path / ".git").mkdir()
    return path


async def test_completion_goes_in(client: str, wire: WireServer, file: Path) -> None:
    """The only entry is put in at once, at the right place behind wide characters."""
    wire.text = "a + b"
    # lsp-mode 8 counts columns in characters and not in the units that the protocol has by default
    wide = "😀" if client == "eglot" else "€"
    buffer = await complete(client, file, wire.url, f"    x = '{wide}'; return ")
    assert buffer == f"def add(a, b):\n    x = '{wide}'; return a + b"
    body = next(body for body in wire.received if body["type"] == "complete")
    assert body["prefix"] == f"def add(a, b):\n    x = '{wide}'; return "
    assert body["language"] == "python"


async def test_inside_a_word(client: str, wire: WireServer, file: Path) -> None:
    """The word before the cursor is completed and not written twice."""
    wire.text = "nt('done')"
    assert await complete(client, file, wire.url, "    pri") == "def add(a, b):\n    print('done')"


async def test_several_lines(client: str, wire: WireServer, file: Path) -> None:
    """Lines go in with their own indentation."""
    wire.text = "if a:\n        return b\n    return a"
    buffer = await complete(client, file, wire.url, "    ")
    assert buffer == "def add(a, b):\n    if a:\n        return b\n    return a"
