"""The real process under what editors, users and networks do to it: one answer each, and it goes on."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.lsp.editor import Editor, Failed
from tests.lsp.wire_server import WireServer

METHODS = [
    *("textDocument/inlineCompletion", "textDocument/completion", "textDocument/didOpen"),
    *("textDocument/didChange", "textDocument/didClose", "notebookDocument/didOpen"),
    *("notebookDocument/didChange", "notebookDocument/didClose", "workspace/executeCommand"),
    *("codeserve/token", "codeserve/stats", "codeserve/didMoveCursor", "textDocument/didFocus"),
    *("textDocument/didShowCompletion", "textDocument/didPartiallyAcceptCompletion"),
    *("workspace/didChangeConfiguration", "workspace/didChangeWorkspaceFolders", "$/cancelRequest"),
    *("$/setTrace", "window/workDoneProgress/cancel", "no/such", "$/noSuch", "initialized"),
]
ODD = [None, True, -1, 2**40, 2**70, 1.5, "", "x", "\ud83d", "\0", [], {}, [[]], {"uri": 1}]


def params(choose: random.Random) -> Any:
    """Parameters that are right for some method, with a part that is missing or of another type."""
    point = {"line": choose.choice([0, 1, 2**40, -1]), "character": choose.choice([0, 1, 2**33, -5])}
    span = {"start": point, "end": {"line": 0, "character": 0}}
    cells = [{"kind": 2, "document": "cell:1"}]
    array = {
        "start": choose.choice([0, -3, 99]),
        "deleteCount": choose.choice([0, -1, 2**40]),
        "cells": cells,
    }
    document = {"uri": choose.choice(["untitled:a.py", "\ud800"]), "version": 1, "languageId": "python"}
    whole: dict[str, Any] = {
        "textDocument": document | {"text": "abc\ndef"},
        "position": point,
        "context": {"triggerKind": 2, "selectedCompletionInfo": {"range": span, "text": "a"}},
        "contentChanges": [{"range": span, "text": "q"}, {"text": "whole"}],
        "notebookDocument": {"uri": "file:///n", "notebookType": "j", "version": 1, "cells": cells},
        "cellTextDocuments": [document | {"text": "c"}],
        "change": {"cells": {"structure": {"array": array}}},
        "command": choose.choice(["codeserve.accepted", "codeserve.reconnect", "other"]),
        "arguments": choose.choice([["1"], [1, 2], [{}], [[1]]]),
        "item": {"command": {"arguments": [choose.choice(["1", ["x"]])]}},
        "acceptedLength": choose.choice([1, -1, 2**70]),
        "settings": {
            "codeserve": {"budgetMs": choose.choice([300, -1, "x"]), "mode": choose.choice([[], {}])}
        },
        "event": {"added": [{"uri": choose.choice(["::[", ""]), "name": "n"}], "removed": []},
        "token": choose.choice([1, None]),
        "id": choose.choice([1, "x", None]),
        "value": "off",
    }
    for _ in range(choose.randrange(3)):
        at: Any = whole
        while isinstance(at, dict) and at:
            key = choose.choice(list(at))
            if choose.random() < 0.5 or not isinstance(at[key], dict):
                at[key] = choose.choice(ODD)
                break
            at = at[key] = dict(at[key])
    return choose.choice(ODD) if choose.random() < 0.1 else whole


@pytest.mark.parametrize("seed", range(3))
async def test_wrong_types_everywhere(editor: Editor, wire: WireServer, seed: int) -> None:
    """Every request gets its answer, none holds a traceback, nothing pops up, and completions go on."""
    choose = random.Random(seed)
    answers = []
    for _ in range(200):
        method, given = choose.choice(METHODS), params(choose)
        if choose.random() < 0.6:
            answers.append(editor.start(method, given)[1])
        else:
            editor.notify(method, given)
    async with asyncio.timeout(60):
        told = await asyncio.gather(*answers, return_exceptions=True)
    assert {type(each) for each in told if isinstance(each, BaseException)} == {Failed}
    assert not [each for each in told if isinstance(each, Failed) and "raceback" in str(each)]
    assert not [name for name, _ in editor.notes if name.startswith("window/")]
    await editor.ask("codeserve/token", {"token": None})
    editor.open("x", "untitled:after.py")
    assert await editor.texts(0, 1) == ["foo(bar)"]


async def test_after_shutdown(editor: Editor) -> None:
    """Requests between shutdown and exit are answered too, and no state is told any more."""
    editor.notes.clear()
    await editor.ask("shutdown")
    with pytest.raises(Failed, match="shut down"):
        await editor.inline(0, 0)
    assert editor.notes == []
    editor.notify("exit", None)
    assert await editor.process.wait() == 0


async def test_rapid_opening_and_closing(editor: Editor, wire: WireServer) -> None:
    """Documents that come and go with requests under way leave nothing behind."""
    wire.text = None
    answers = []
    for i in range(300):
        uri = f"untitled:{i % 7}.py"
        editor.open("x = ", uri)
        answers.append(editor.start_inline(0, 4)[1])
        if i % 3:
            editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    async with asyncio.timeout(20):
        assert all(answer["items"] == [] for answer in await asyncio.gather(*answers))
    wire.text = "foo(bar)"
    editor.open("y = ", "untitled:last.py")
    assert await editor.texts(0, 4) == ["foo(bar)"]


async def test_settings_that_flip(wire: WireServer) -> None:
    """However often settings change with requests under way, each is answered and the last ones hold."""
    async with WireServer("other()") as other, Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize()
        editor.open("x = ")
        answers = []
        for i in range(60):
            settings = {"serverUrl": (wire, other)[i % 2].url, "enabled": i % 5 != 0, "budgetMs": 100 + i}
            editor.notify("workspace/didChangeConfiguration", {"settings": {"codeserve": settings}})
            answers.append(editor.start_inline(0, 4)[1])
        async with asyncio.timeout(20):
            await asyncio.gather(*answers)
            while not await editor.texts(0, 4):
                await editor.status("ready")
        assert await editor.texts(0, 4) == ["other()"]


async def test_a_token_file_that_comes_and_goes(wire: WireServer, tmp_path: Path) -> None:
    """A connection that stands outlives its token file; without the file a new one is not tried."""
    wire.token = "s3cret"
    file = tmp_path / "token"
    file.write_text("s3cret")
    async with Editor(settings={"serverUrl": wire.url, "tokenFile": str(file)}) as editor:
        await editor.initialize()
        await editor.status("ready")
        editor.open()
        file.unlink()
        assert await editor.texts(0, 0) == ["foo(bar)"]
        await editor.ask("workspace/executeCommand", {"command": "codeserve.reconnect"})
        assert str(file) in (await editor.status("misconfigured"))["reason"]
        assert await editor.texts(0, 0) == []
        file.write_text("s3cret")
        await editor.ask("workspace/executeCommand", {"command": "codeserve.reconnect"})
        await editor.status("ready")
        assert await editor.texts(0, 0) == ["foo(bar)"]


async def test_a_server_that_restarts_under_a_request(editor: Editor, wire: WireServer) -> None:
    """A request that its server takes with it is answered, and the next one by the server that came back."""
    for column in (0, 2, 4):
        wire.text = None
        answer = editor.start_inline(0, column)[1]
        await wire.wait_for("complete")
        await wire.stop()
        assert (await answer)["items"] == []
        await editor.status("offline")
        wire.received.clear()
        wire.text = "foo(bar)"
        await wire.come_back()
        await editor.status("ready")
        editor.change(0, column, "x")
        assert await editor.texts(0, column + 1) == ["foo(bar)"]
        editor.change(0, column + 1, "y")
        wire.received.clear()


async def test_two_windows(wire: WireServer) -> None:
    """Two editors with the same document open do not end each other's requests."""
    wire.delay = 0.1
    async with (
        Editor(settings={"serverUrl": wire.url}) as one,
        Editor(settings={"serverUrl": wire.url}) as two,
    ):
        for editor in (one, two):
            await editor.initialize()
            await editor.status("ready")
            editor.open("x = ")
        first, second = one.start_inline(0, 4)[1], two.start_inline(0, 4)[1]
        items = [(await answer)["items"] for answer in (first, second)]
        assert [[item["insertText"] for item in each] for each in items] == [["foo(bar)"], ["foo(bar)"]]


async def test_no_growth_while_the_server_is_away() -> None:
    """Thousands of keystrokes without a server leave no memory behind."""
    async with Editor(settings={"serverUrl": "ws://127.0.0.1:9"}) as editor:
        await editor.initialize()
        await editor.status("offline")
        process = psutil.Process(editor.process.pid)
        sizes = []
        for _ in range(4):
            for i in range(500):
                editor.open("x = " + "y" * 2_000, f"untitled:{i % 50}.py")
                answer = editor.start_inline(0, 4)[1]
                editor.change(0, 4, "z")
                await answer
            sizes.append(process.memory_info().rss)
        # the first round fills what is kept anyway
        assert sizes[-1] - sizes[0] < 3_000_000
        stats = await editor.ask("codeserve/stats", {})
        assert (stats["requests"], stats["answers"]) == (0, {"unavailable": 2_000})


async def test_a_server_that_writes_without_end(editor: Editor, wire: WireServer) -> None:
    """Of far too much text the editor gets whole lines, as many as an answer may have, and it goes on."""
    wire.text = "x = 1\n" * 100_000
    [text] = await editor.texts(0, 0)
    assert set(text.split("\n")) == {"x = 1"}
    assert len(text) <= 65_536
    wire.text = "foo(bar)"
    editor.change(0, 0, "y = ")
    assert await editor.texts(0, 4) == ["foo(bar)"]


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
async def test_a_server_that_writes_what_no_source_has(editor: Editor, wire: WireServer, eol: str) -> None:
    """Line ends become the document's own, and an item ends before the first odd character."""
    wire.text = "a\r\n b\r c\n d\x1b[31m e"
    editor.open(f"1{eol}2{eol}")
    assert await editor.texts(2, 0) == [f"a{eol} b{eol} c{eol} d"]


@pytest.mark.parametrize("position", [{"line": "0", "character": 0}, {"line": True, "character": 1.5}])
async def test_a_position_of_another_type(editor: Editor, position: dict[str, Any]) -> None:
    """It is told by an error, and not taken for a number."""
    with pytest.raises(Failed, match="-32602"):
        await editor.ask(
            "textDocument/inlineCompletion",
            {"textDocument": {"uri": editor.uri}, "position": position, "context": {"triggerKind": 2}},
        )


async def test_a_state_that_flickers(wire: WireServer, editor: Editor) -> None:
    """Of a state that changes all the time the editor hears a few times a second, and the last one always."""
    editor.notes.clear()
    for number in range(400):
        await wire.peers[0].send(type="status", state="sleeping" if number % 2 else "ready", load=0.0)
    await wire.stop()
    await editor.status("offline")
    assert len(editor.notes) < 100
