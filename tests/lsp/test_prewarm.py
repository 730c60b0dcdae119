"""The real process and where the cursor is: what the server is to read before anyone asks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.lsp.editor import Editor
from tests.lsp.wire_server import WireServer


def move(editor: Editor, line: int, character: int) -> None:
    position = {"line": line, "character": character}
    editor.notify("codeserve/didMoveCursor", {"textDocument": {"uri": editor.uri}, "position": position})


def focus(editor: Editor, uri: str, **more: Any) -> None:
    editor.notify("textDocument/didFocus", {"textDocument": {"uri": uri}, **more})


async def test_on_open_and_at_rest(editor: Editor, wire: WireServer) -> None:
    """A document that was opened is read ahead, or rather where the cursor turns out to be in it."""
    [first] = await wire.wait_for("prewarm")
    assert (first["document"], first["prefix"]) == ("untitled:a.py", "")
    editor.open("one\ntwo\n", "untitled:b.py")
    for line in (0, 1):
        move(editor, line, 1)
    second = (await wire.wait_for("prewarm", 2))[1]
    assert (second["document"], second["prefix"]) == ("untitled:b.py", "one\nt")


async def test_a_document_in_front(editor: Editor, wire: WireServer) -> None:
    """Going back to a document warms the place where its cursor was, or the one that is told."""
    await wire.wait_for("prewarm")
    editor.open("one\ntwo\n", "untitled:b.py")
    move(editor, 1, 1)
    await wire.wait_for("prewarm", 2)
    focus(editor, "untitled:a.py")
    third = (await wire.wait_for("prewarm", 3))[2]
    assert (third["document"], third["prefix"]) == ("untitled:a.py", "")
    focus(editor, "untitled:b.py")
    fourth = (await wire.wait_for("prewarm", 4))[3]
    assert (fourth["document"], fourth["prefix"]) == ("untitled:b.py", "one\nt")
    focus(editor, "untitled:b.py", position={"line": 2, "character": 0})
    assert (await wire.wait_for("prewarm", 5))[4]["prefix"] == "one\ntwo\n"
    for odd in ({}, {"textDocument": {}}, {"textDocument": {"uri": "untitled:none"}}, None, 7):
        editor.notify("textDocument/didFocus", odd)
    assert await editor.ask("codeserve/stats", {})
    assert not [name for name, _ in editor.notes if name == "window/showMessage"]


async def test_where_a_completion_was_asked_for_is_warm(editor: Editor, wire: WireServer) -> None:
    """A completion has the server read its place: that needs no warming, the next line does."""
    editor.change(0, 0, "x = 1\ny")
    await editor.texts(1, 1)
    move(editor, 1, 0)
    await asyncio.sleep(0.6)
    assert [body for body in wire.received if body["type"] == "prewarm"] == []
    move(editor, 0, 1)
    assert (await wire.wait_for("prewarm"))[0]["prefix"] == "x"


async def test_where_nothing_was_asked_is_warmed(editor: Editor, wire: WireServer) -> None:
    """A request that is not worth the server's time has not made it read the place."""
    await wire.wait_for("prewarm")
    editor.change(0, 0, "x = 1\nf(1)")
    assert await editor.texts(1, 4) == []
    assert (await wire.wait_for("prewarm", 2))[1]["prefix"] == "x = 1\nf(1)"
    assert not [body for body in wire.received if body["type"] == "complete"]


async def test_when_the_server_comes_back(editor: Editor, wire: WireServer) -> None:
    """A server that was away has nothing in its cache: it reads again where the cursor is."""
    await wire.wait_for("prewarm")
    await wire.stop()
    await editor.status("offline")
    await wire.come_back()
    assert (await wire.wait_for("prewarm", 2))[1]["document"] == "untitled:a.py"


async def test_new_context_is_read_while_the_cursor_rests(wire: WireServer, tmp_path: Path) -> None:
    """Declarations that come in later are in no completion before the server has read them."""
    (tmp_path / "lib.py").write_text("X = 1\n")
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize(folders=[tmp_path])
        await editor.status("ready")
        editor.open("import lib\n\n", (tmp_path / "main.py").as_uri())
        [first] = await wire.wait_for("prewarm")
        assert [each["path"] for each in first["snippets"]] == ["lib.py"]
        assert await editor.texts(1, 0) == ["foo(bar)"]
        [body] = await wire.wait_for("complete")
        assert body["snippets"] == first["snippets"]


async def test_switched_off(wire: WireServer) -> None:
    """Without prewarming nothing is read ahead."""
    async with Editor(settings={"serverUrl": wire.url, "prewarm": False}) as editor:
        await editor.initialize()
        await editor.status("ready")
        editor.open("one\n")
        move(editor, 0, 3)
        await asyncio.sleep(0.6)
        await editor.texts(0, 3)
    assert [body["type"] for body in wire.received] == ["complete"]
