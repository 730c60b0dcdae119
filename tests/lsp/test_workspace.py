"""The real process and what is around a document: other files, folders, notebooks, the cursor."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.lsp.editor import Editor
from tests.lsp.wire_server import WireServer


async def test_secrets_stay_here(editor: Editor, wire: WireServer, tmp_path: Path) -> None:
    """A document that a pattern rules out is never sent, not even for warming caches."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("private.py\n")
    for name in (".env", "private.py"):
        editor.open("KEY=1\n", (tmp_path / name).as_uri())
        editor.notify(
            "codeserve/didMoveCursor",
            {"textDocument": {"uri": editor.uri}, "position": {"line": 0, "character": 4}},
        )
        assert await editor.texts(0, 4) == []
    await asyncio.sleep(0.6)
    assert wire.received == []


async def test_what_follows_an_item_of_a_file_that_is_ignored_since(
    editor: Editor, wire: WireServer, tmp_path: Path
) -> None:
    """Accepting it does not send the file again."""
    editor.open("x = ", (tmp_path / "a.py").as_uri())
    [item] = await editor.inline(0, 4)
    (tmp_path / ".codeserveignore").write_text("a.py\n")
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}})
    before = len(wire.received)
    await editor.ask("workspace/executeCommand", item["command"])
    assert await editor.texts(0, 4) == []
    await wire.wait_for("feedback")
    assert {body["type"] for body in wire.received[before:]} == {"feedback"}


async def test_notebook_cells_in_order(editor: Editor, wire: WireServer) -> None:
    """A cell is completed with the code cells before and behind it; text cells are left out."""
    cell = "notebook-cell:/n.ipynb#{}".format

    def document(id: str, text: str, language: str = "python") -> dict[str, Any]:
        return {"uri": cell(id), "languageId": language, "version": 1, "text": text}

    def listed(id: str, kind: int = 2) -> dict[str, Any]:
        return {"kind": kind, "document": cell(id)}

    book = {"uri": "file:///tmp/n.ipynb", "notebookType": "jupyter", "version": 1}
    editor.notify(
        "notebookDocument/didOpen",
        {
            "notebookDocument": book | {"cells": [listed("a"), listed("t", 1), listed("c")]},
            "cellTextDocuments": [
                document("a", "import os\n"),
                document("t", "# T", "markdown"),
                document("c", "z"),
            ],
        },
    )
    structure = {
        "array": {"start": 2, "deleteCount": 0, "cells": [listed("b")]},
        "didOpen": [document("b", "y")],
    }
    change = {
        "document": {"uri": cell("b"), "version": 2},
        "changes": [
            {
                "range": {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 1}},
                "text": " =",
            }
        ],
    }
    for cells in ({"structure": structure}, {"textContent": [change]}):
        editor.notify(
            "notebookDocument/didChange",
            {"notebookDocument": {"uri": book["uri"], "version": 2}, "change": {"cells": cells}},
        )
    editor.uri = cell("b")
    assert await editor.texts(0, 3) == ["foo(bar)"]
    [body] = await wire.wait_for("complete")
    assert (body["prefix"], body["suffix"], body["path"]) == ("import os\n\ny =", "\n\nz", "n.ipynb")
    editor.notify(
        "notebookDocument/didClose",
        {"notebookDocument": {"uri": book["uri"]}, "cellTextDocuments": [{"uri": cell(i)} for i in "abct"]},
    )
    assert await editor.texts(0, 3) == []


async def test_a_notebooks_file_has_the_same_rules(editor: Editor, wire: WireServer, tmp_path: Path) -> None:
    """Cells of a notebook that is ruled out stay here."""
    (tmp_path / ".codeserveignore").write_text("*.ipynb\n")
    uri = (tmp_path / "n.ipynb").as_uri()
    cell = uri.replace("file:", "notebook-cell:") + "#a"
    editor.notify(
        "notebookDocument/didOpen",
        {
            "notebookDocument": {
                "uri": uri,
                "notebookType": "jupyter",
                "version": 1,
                "cells": [{"kind": 2, "document": cell}],
            },
            "cellTextDocuments": [{"uri": cell, "languageId": "python", "version": 1, "text": "x"}],
        },
    )
    editor.uri = cell
    assert await editor.texts(0, 1) == []
    assert [body for body in wire.received if body["type"] == "complete"] == []


async def snippets(editor: Editor, wire: WireServer, count: int) -> list[str]:
    """The paths of what goes along once there are as many: they are collected beside the completions."""
    async with asyncio.timeout(10):
        while True:
            before = len(wire.received)
            await editor.inline(99, 0)
            editor.change(99, 0, "#")  # at the end, so that the cache has nothing for the next one
            sent = [body for body in wire.received[before:] if body["type"] == "complete"]
            paths = [each["path"] for body in sent for each in body["snippets"]]
            if len(paths) == count:
                return paths
            await asyncio.sleep(0.05)


async def test_what_goes_along(wire: WireServer, tmp_path: Path) -> None:
    """Declarations of imported files and other open files go along, and none that is ignored."""
    (tmp_path / ".gitignore").write_text("hidden.py\n")
    for name in ("shapes.py", "hidden.py"):
        (tmp_path / name).write_text(
            "class Box:\n    def fill(self) -> None:\n        secret()\n" + "#\n" * 2_000
        )
    async with Editor(settings={"serverUrl": wire.url, "contextChars": 4_000}) as editor:
        await editor.initialize(folders=[tmp_path])
        await editor.status("ready")
        editor.open("A = 1\n", (tmp_path / "other.py").as_uri())
        editor.open("from shapes import Box\nimport hidden\n", (tmp_path / "sub" / "main.py").as_uri())
        assert await snippets(editor, wire, 2) == ["shapes.py", "other.py"]
    [shapes, _] = wire.received[-1]["snippets"]
    assert shapes["text"] == "class Box:\n    def fill(self) -> None: ..."


async def test_a_server_that_leaves_other_files_out(wire: WireServer, tmp_path: Path) -> None:
    """It is sent nothing of them; once it takes them, after a restart, it is."""
    wire.limits = {"snippet_tokens": 0}
    await wire.stop()
    await wire.come_back()
    (tmp_path / "lib.py").write_text("A = 1\n")
    async with Editor(settings={"serverUrl": wire.url, "openFiles": False}) as editor:
        await editor.initialize(folders=[tmp_path])
        await editor.status("ready")
        editor.open("import lib\n\n", (tmp_path / "main.py").as_uri())
        await wire.wait_for("prewarm")
        assert await editor.texts(1, 0) == ["foo(bar)"]
        await wire.wait_for("complete")
        assert [body["snippets"] for body in wire.received] == [[]] * len(wire.received)
        await wire.stop()
        await editor.status("offline")
        wire.limits = {"snippet_tokens": 300}
        await wire.come_back()
        await editor.status("ready")
        assert await snippets(editor, wire, 1) == ["lib.py"]


async def test_several_folders_that_change(wire: WireServer, tmp_path: Path) -> None:
    """Each folder is a root for imports, paths and ignore files; one that is added later as well."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / f"lib_{folder.name}.py").write_text("X = 1\n")
        (folder / "hidden.py").write_text("X = 1\n")
    (two / ".gitignore").write_text("hidden.py\n")
    async with Editor(settings={"serverUrl": wire.url, "openFiles": False}) as editor:
        await editor.initialize(folders=[one])
        await editor.status("ready")
        text = "import lib_one, lib_two, hidden\n"
        editor.open(text, (one / "main.py").as_uri())
        assert await snippets(editor, wire, 2) == ["lib_one.py", "hidden.py"]
        added = {"uri": two.as_uri(), "name": "two"}
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [added], "removed": []}})
        assert await snippets(editor, wire, 3) == ["lib_one.py", "lib_two.py", "hidden.py"]
        editor.open(text, (two / "deep" / "main.py").as_uri())
        assert await snippets(editor, wire, 3) == ["lib_one.py", "lib_two.py", "hidden.py"]
        assert wire.received[-1]["path"] == "deep/main.py"
        editor.open(text, (two / "hidden.py").as_uri())
        assert await editor.texts(0, 0) == []
        removed = {"uri": one.as_uri(), "name": "one"}
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [removed]}})
        editor.open(text, (two / "main.py").as_uri())
        assert await snippets(editor, wire, 1) == ["lib_two.py"]


async def test_the_root_stays_a_folder(wire: WireServer, tmp_path: Path) -> None:
    """The ignore file of a client's one root counts also once another folder came, or it was renamed."""
    root, other = tmp_path / "root", tmp_path / "other"
    (root / "sub").mkdir(parents=True)
    other.mkdir()
    (root / ".codeserveignore").write_text("/sub/hidden.py\n")
    here = {"uri": root.as_uri(), "name": "root"}
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize(root=root)
        await editor.status("ready")
        for event in (
            {"added": [{"uri": other.as_uri(), "name": "other"}], "removed": []},
            {"added": [here], "removed": [here]},
        ):
            editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
            editor.open("x = ", (root / "sub" / "hidden.py").as_uri())
            assert await editor.texts(0, 4) == []
            editor.open("x = ", (root / "sub" / f"open{len(wire.received)}.py").as_uri())
            assert await editor.texts(0, 4) == ["foo(bar)"]


async def test_a_file_of_twenty_thousand_lines(editor: Editor, wire: WireServer) -> None:
    """Edits and completions at both ends and in the middle of a long file are at the right place."""
    editor.open("".join(f"(line_{i})\n" for i in range(20_000)), "untitled:long.py")
    for line in (0, 10_000, 19_999):
        editor.change(line, 0, "x")
        assert await editor.texts(line, 1) == ["foo(bar)"]
        body = wire.received[-1]
        assert body["prefix"].rsplit("\n", 1)[-1] == "x"
        assert body["suffix"].startswith(f"(line_{line})\n")
