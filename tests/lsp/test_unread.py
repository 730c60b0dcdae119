"""The real process when the editor's messages cannot be read, or not all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lsp.editor import Editor
from tests.lsp.wire_server import WireServer

# In a text: a byte that is no UTF-8, as Neovim writes it.
BYTE = "@"


def notify_raw(editor: Editor, method: str, params: Any) -> None:
    """Send a notification with bytes in it that are no UTF-8."""
    raw = json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()
    raw = raw.replace(BYTE.encode(), b"\xe9")
    assert editor.process.stdin is not None
    editor.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))


def change(editor: Editor, *edits: dict[str, Any], version: Any = 2) -> dict[str, Any]:
    return {"textDocument": {"uri": editor.uri, "version": version}, "contentChanges": list(edits)}


def edit(line: int, start: int, end: int, text: str) -> dict[str, Any]:
    span = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return {"range": span, "text": text}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_a_byte_that_is_no_utf8(wire: WireServer, encoding: str) -> None:
    """A message with one counts, the byte is one column, and the server gets U+FFFD for it."""
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize(
            {"general": {"positionEncodings": [encoding]}, "textDocument": {"inlineCompletion": {}}}
        )
        await editor.status("ready")
        editor.open("x = \n")
        notify_raw(editor, "textDocument/didChange", change(editor, edit(0, 0, 0, "# caf@ au lait\n")))
        editor.notify("textDocument/didChange", change(editor, edit(0, 7, 9, "\u20ac")))
        assert await editor.texts(1, 4) == ["foo(bar)"]
        [body] = await wire.wait_for("complete")
        assert body["prefix"] == "# caf\ufffd \u20ac lait\nx = "
        document = {"uri": "untitled:b.py", "languageId": "python", "version": 1, "text": "# @\ny = "}
        notify_raw(editor, "textDocument/didOpen", {"textDocument": document})
        editor.uri = "untitled:b.py"
        assert await editor.texts(1, 4) == ["foo(bar)"]


async def test_bytes_that_editors_count_in_two_ways(editor: Editor) -> None:
    """Where the columns behind them are is not sure: the document is not known until its whole text comes."""
    raw = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didChange"}).encode()[:-1]
    body = json.dumps(change(editor, edit(0, 0, 0, "@ = "))).encode().replace(b"@", b"\xed\xa0\x80")
    raw += b', "params": ' + body + b"}"
    assert editor.process.stdin is not None
    editor.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))
    assert await editor.texts(0, 6) == []
    editor.change(0, 0, "x = ")
    assert await editor.texts(0, 4) == []
    editor.notify("textDocument/didChange", change(editor, {"text": "x = "}))
    assert await editor.texts(0, 4) == ["foo(bar)"]


async def test_a_request_with_such_a_byte(editor: Editor) -> None:
    """It is answered, and the answer holds nothing that JSON cannot carry."""
    editor.change(0, 0, "x = ")
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 4}}
    # as what Python makes of the byte: json.dumps writes it as an escape, which is read as the same
    chosen = {"range": span, "text": "caf\udce9"}
    assert await editor.texts(0, 4, selectedCompletionInfo=chosen) == []
    assert await editor.texts(0, 4) == ["foo(bar)"]


@pytest.mark.parametrize("version", [None, 2**31, -1, "x"])
async def test_a_version_that_is_none(editor: Editor, wire: WireServer, version: Any) -> None:
    """A change counts whatever its version is: before LSP 3.16 it could be null."""
    editor.notify("textDocument/didChange", change(editor, {"text": "new = "}, version=version))
    assert await editor.texts(0, 6) == ["foo(bar)"]
    [body] = await wire.wait_for("complete")
    assert body["prefix"] == "new = "
    without = change(editor, {"text": "newer = "})
    del without["textDocument"]["version"]
    editor.notify("textDocument/didChange", without)
    await editor.texts(0, 8)
    assert (await wire.wait_for("complete", 2))[1]["prefix"] == "newer = "


@pytest.mark.parametrize("broken", [edit(0, 0, -1, "new"), {"range": 5, "text": "new"}, {"text": 5}, {}])
async def test_a_change_that_cannot_be_read(editor: Editor, wire: WireServer, broken: dict[str, Any]) -> None:
    """The old text is nobody's any more: no answers to it, until the whole text comes or is opened."""
    editor.notify("textDocument/didChange", change(editor, {"text": "old = "}))
    editor.notify("textDocument/didChange", change(editor, broken))
    assert await editor.texts(0, 6) == []
    editor.change(0, 0, "z")
    assert await editor.texts(0, 1) == []
    assert not [body for body in wire.received if body["type"] == "complete"]
    editor.notify("textDocument/didChange", change(editor, {"text": "new = "}))
    assert await editor.texts(0, 6) == ["foo(bar)"]
    editor.notify("textDocument/didChange", change(editor, broken))
    editor.open("x = ", editor.uri)
    assert await editor.texts(0, 4) == ["foo(bar)"]


async def test_a_request_under_way_ends_with_its_text(editor: Editor, wire: WireServer) -> None:
    """A document that is opened again, or whose change cannot be read, gets no answer to its former text."""
    for what in ("opened", "unread"):
        editor.open("x = ", f"untitled:{what}.py")
        wire.text = None
        waiting = editor.start_inline(0, 4)[1]
        await wire.wait_for("complete", 1 + (what == "unread"))
        wire.text = "foo(bar)"
        if what == "opened":
            editor.open("other\n", editor.uri)
        else:
            editor.notify("textDocument/didChange", change(editor, {}))
        stats = await editor.ask("codeserve/stats")
        assert stats["answers"].get("superseded") == 1 + (what == "unread")
        assert (await waiting)["items"] == []


async def test_a_notebook_change_that_cannot_be_read(editor: Editor) -> None:
    """None of its cells is known then."""
    cell, book = "cell:1", {"uri": "file:///n", "version": 1}
    document = {"uri": cell, "languageId": "python", "version": 1, "text": "x = "}
    notebook = {**book, "notebookType": "j", "cells": [{"kind": 2, "document": cell}]}
    opened = {"notebookDocument": notebook, "cellTextDocuments": [document]}
    editor.notify("notebookDocument/didOpen", opened)
    editor.uri = cell
    assert await editor.texts(0, 4) == ["foo(bar)"]
    editor.notify("notebookDocument/didChange", {"notebookDocument": book, "change": 5})
    assert await editor.texts(0, 4) == []


async def test_a_cell_that_is_closed_and_opened_in_one_change(editor: Editor, wire: WireServer) -> None:
    """It is open afterwards, with its new text."""
    cell, book = "cell:1", {"uri": "file:///n", "version": 1}
    document = {"uri": cell, "languageId": "python", "version": 1, "text": "x = "}
    cells = [{"kind": 2, "document": cell}]
    notebook = {**book, "notebookType": "j", "cells": cells}
    editor.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": [document]})
    array = {"start": 0, "deleteCount": 1, "cells": cells}
    structure = {"array": array, "didOpen": [document | {"text": "y = "}], "didClose": [{"uri": cell}]}
    change = {"cells": {"structure": structure}}
    editor.notify("notebookDocument/didChange", {"notebookDocument": book, "change": change})
    editor.uri = cell
    assert await editor.texts(0, 4) == ["foo(bar)"]
    [body] = await wire.wait_for("complete")
    assert body["prefix"] == "y = "
