"""A server that does as a test says, and an editor that is connected to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.lsp.editor import Editor
from tests.lsp.wire_server import WireServer


@pytest.fixture
async def wire() -> AsyncIterator[WireServer]:
    async with WireServer() as server:
        yield server


@pytest.fixture
async def editor(wire: WireServer) -> AsyncIterator[Editor]:
    """An editor that is connected, with an empty document open."""
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize()
        await editor.status("ready")
        editor.open()
        yield editor
