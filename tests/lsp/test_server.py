"""The real process over its pipes, against a server that does as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.editor import INLINE, Editor, Failed
from tests.lsp.wire_server import WireServer

# What an answer may take beyond the budget here, where other tests and programs take their turns: the figure
# to keep, 20 ms, is measured by `codeserve bench lsp`.
SLACK_MS = 80


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


async def test_completion_and_its_place(editor: Editor) -> None:
    """An item is the server's text with an explicit range on one line and a command for its acceptance."""
    editor.change(0, 0, "x = ")
    [item] = await editor.inline(0, 4)
    here = {"line": 0, "character": 4}
    assert item["insertText"] == "foo(bar)"
    assert item["range"] == {"start": here, "end": here}
    assert item["command"]["command"] == "codeserve.accepted"


async def test_request_as_the_server_gets_it(wire: WireServer, tmp_path: Path) -> None:
    """Prefix, suffix, language and a path below the workspace folder go out, with newlines for CRLF."""
    async with Editor(settings={"serverUrl": wire.url, "mode": "line"}) as editor:
        await editor.initialize(folders=[tmp_path])
        await editor.status("ready")
        editor.open("a\r\nb = \r\nc\r\n", (tmp_path / "sub" / "b.py").as_uri())
        wire.text = "1\n2"
        assert await editor.texts(1, 4) == ["1\r\n2"]
        [body] = await wire.wait_for("complete")
    assert (body["prefix"], body["suffix"]) == ("a\nb = ", "\nc\n")
    assert (body["path"], body["language"], body["mode"]) == ("sub/b.py", "python", "line")
    assert body["candidates"] == 1


async def test_typing_through_needs_no_request(editor: Editor, wire: WireServer) -> None:
    """What was shown and is being typed comes from the cache, also after a typing error was deleted."""
    assert await editor.texts(0, 0) == ["foo(bar)"]
    editor.change(0, 0, "fo")
    assert await editor.texts(0, 2) == ["o(bar)"]
    editor.change(0, 2, "x")
    editor.change(0, 2, "", delete=1)
    assert await editor.texts(0, 2) == ["o(bar)"]
    assert len(await wire.wait_for("complete")) == 1


async def test_next_completion_is_asked_for_on_accept(editor: Editor, wire: WireServer) -> None:
    """The command tells the server of the acceptance and asks for what follows before the editor does."""
    [item] = await editor.inline(0, 0)
    await editor.ask("workspace/executeCommand", item["command"])
    [feedback] = await wire.wait_for("feedback")
    assert (feedback["event"], feedback["characters"]) == ("accepted", 8)
    second = (await wire.wait_for("complete", 2))[1]
    assert second["prefix"] == "foo(bar)"
    editor.change(0, 0, "foo(bar)")
    assert await editor.texts(0, 8) == ["foo(bar)"]
    stats = await editor.ask("codeserve/stats", {})
    assert (stats["prefetches"], stats["prefetchHits"], stats["prefetchTokens"]) == (1, 1, 4)
    assert len(await wire.wait_for("complete")) == 2
    # the same item accepted again is no news
    await editor.ask("workspace/executeCommand", item["command"])
    assert len(await wire.wait_for("feedback")) == 1


async def test_shown_and_partially_accepted(editor: Editor, wire: WireServer) -> None:
    """Copilot's notifications reach the server as feedback; what is no item is passed over."""
    [item] = await editor.inline(0, 0)
    editor.notify("textDocument/didShowCompletion", {"item": item})
    editor.notify("textDocument/didPartiallyAcceptCompletion", {"item": item, "acceptedLength": 3})
    for odd in (None, [], {"item": 1}, {"item": {"command": {"arguments": [{}]}}}):
        editor.notify("textDocument/didShowCompletion", odd)
    shown, partly = await wire.wait_for("feedback", 2)
    assert shown["event"] == "shown"
    assert (partly["event"], partly["characters"]) == ("partially_accepted", 3)
    await editor.ask("codeserve/stats", {})
    assert len(await wire.wait_for("feedback")) == 2


async def test_candidates_when_invoked(editor: Editor, wire: WireServer) -> None:
    """A request by hand gets several texts, an automatic one gets one."""
    wire.candidates = ["foo(bar)", "foo(baz)"]
    assert await editor.texts(0, 0) == ["foo(bar)"]
    assert await editor.texts(0, 0, triggerKind=1) == ["foo(bar)", "foo(baz)"]
    assert await editor.texts(0, 0) == ["foo(bar)"]
    assert [body["candidates"] for body in await wire.wait_for("complete")] == [1, 3]


async def test_selected_completion(editor: Editor, wire: WireServer) -> None:
    """With an entry picked in the menu, the item replaces its range and goes on from its text."""
    editor.change(0, 0, "x = fo()")
    span = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 6}}
    [item] = await editor.inline(0, 6, selectedCompletionInfo={"range": span, "text": "format"})
    assert (item["insertText"], item["range"]) == ("formatfoo(bar)", span)
    [body] = await wire.wait_for("complete")
    assert (body["prefix"], body["suffix"]) == ("x = format", "()")
    over = {"start": {"line": 0, "character": 4}, "end": {"line": 1, "character": 0}}
    assert await editor.inline(0, 6, selectedCompletionInfo={"range": over, "text": "a\nb"}) == []


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 8), ("utf-16", 6), ("utf-32", 5)])
async def test_position_encodings(wire: WireServer, encoding: str, column: int) -> None:
    """Columns count what the editor and the server agreed on."""
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        general = {"general": {"positionEncodings": [encoding]}}
        assert (await editor.initialize(INLINE | general))["positionEncoding"] == encoding
        await editor.status("ready")
        editor.open('"😀" + z')
        editor.change(0, column - 1, "=", delete=1)
        assert await editor.texts(0, column) == ["foo(bar)"]
        [body] = await wire.wait_for("complete")
        assert (body["prefix"], body["suffix"]) == ('"😀" =', " z")


async def test_stalled_server_keeps_to_the_budget(editor: Editor, wire: WireServer) -> None:
    """A server that never answers costs the budget and no more; what was written late serves the next."""
    wire.text = None
    texts, took = await editor.timed(0, 0)
    assert texts == []
    assert 250 <= took <= 300 + SLACK_MS
    [body] = await wire.wait_for("complete")
    await wire.peers[0].send(type="delta", id=body["id"], text="late(")
    editor.change(0, 0, "l")
    await wire.peers[0].send(
        type="done",
        id=body["id"],
        text="late(1)",
        finish="stop",
        timings={"queue_ms": 0, "ttft_ms": 1, "total_ms": 2},
        tokens={},
    )
    assert await editor.texts(0, 1) == ["ate(1)"]
    assert len(await wire.wait_for("complete")) == 1


async def test_budget_is_a_setting(wire: WireServer) -> None:
    """The answer comes within ``budgetMs``."""
    wire.text = None
    async with Editor(settings={"serverUrl": wire.url, "budgetMs": 80}) as editor:
        await editor.initialize()
        await editor.status("ready")
        editor.open()
        _, took = await editor.timed(0, 0)
        assert 50 <= took <= 80 + SLACK_MS


async def test_server_dies_and_comes_back(editor: Editor, wire: WireServer) -> None:
    """While it is away answers are empty at once and the status says why; then it goes on by itself."""
    await wire.stop()
    told = await editor.status("offline")
    assert "127.0.0.1" in told["reason"]
    texts, took = await editor.timed(0, 0)
    assert texts == []
    assert took < 100
    await wire.come_back()
    await editor.status("ready")
    assert await editor.texts(0, 0) == ["foo(bar)"]
    assert not [name for name, _ in editor.notes if name == "window/showMessage"]


async def test_no_server_at_all() -> None:
    """Without a server each answer is empty and quick, and the process ends in good order."""
    async with Editor(settings={"serverUrl": "ws://127.0.0.1:9"}) as editor:
        await editor.initialize()
        await editor.status("offline")
        editor.open()
        texts, took = await editor.timed(0, 0)
        assert (texts, took < 100) == ([], True)
        assert await editor.quit() == 0


async def test_bad_address_is_told() -> None:
    """An address that cannot work is a status with one line of reason."""
    async with Editor(settings={"serverUrl": "http://x"}) as editor:
        await editor.initialize()
        told = await editor.status("misconfigured")
        assert told["reason"]
        assert "\n" not in told["reason"]


async def test_superseded_and_cancelled_requests(editor: Editor, wire: WireServer) -> None:
    """A newer request or a change ends the older one with an empty list; a cancelled one is told so."""
    wire.text = None
    _, first = editor.start_inline(0, 0)
    _, second = editor.start_inline(0, 0)
    assert (await asyncio.wait_for(first, 0.2))["items"] == []
    editor.change(0, 0, "y")
    assert (await asyncio.wait_for(second, 0.2))["items"] == []
    id, third = editor.start_inline(0, 1)
    editor.notify("$/cancelRequest", {"id": id})
    with pytest.raises(Failed, match="-32800"):
        await third


async def test_the_document_at_the_time_of_the_request(editor: Editor, wire: WireServer) -> None:
    """Changes sent right behind a request do not get into it."""
    editor.change(0, 0, "one")
    _, answer = editor.start_inline(0, 3)
    editor.change(0, 3, " two")
    editor.change(0, 7, " three")
    await answer
    [body] = await wire.wait_for("complete")
    assert body["prefix"] == "one"


async def test_what_cannot_be_answered_is_empty_or_an_error(editor: Editor) -> None:
    """An unknown document is an empty list, a far position the end; bad parameters get an error answer."""
    uri = editor.uri
    editor.uri = "file:///nowhere/x.py"
    assert await editor.texts(0, 0) == []
    editor.uri = uri
    assert await editor.texts(99, 99) == ["foo(bar)"]
    with pytest.raises(Failed, match="-32602"):
        await editor.ask("textDocument/inlineCompletion", {"textDocument": {}})
    editor.notify("textDocument/didChange", {"nonsense": 1})
    editor.notify("codeserve/didMoveCursor", {"position": "here"})
    assert await editor.texts(0, 0) == ["foo(bar)"]
    assert not [name for name, _ in editor.notes if name == "window/showMessage"]


async def test_settings_are_live(wire: WireServer) -> None:
    """Settings are asked for at the start and again when the editor says they have changed."""
    settings: dict[str, Any] = {"serverUrl": wire.url}
    async with Editor() as editor:
        editor.answers["workspace/configuration"] = lambda _: [settings]
        workspace = {
            "workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}}
        }
        await editor.initialize(INLINE | workspace)
        await editor.status("ready")
        assert "client/registerCapability" in editor.asked
        editor.open()
        assert await editor.texts(0, 0) == ["foo(bar)"]
        settings["languages"] = {"*": True, "python": False, "c++": True}
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        await editor.ask("codeserve/stats", {})
        assert await editor.texts(0, 0) == []
        settings["languages"] = {"python": True}
        settings["enabled"] = False
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        assert (await editor.status("off"))["reason"]
        assert await editor.texts(0, 0) == []
        settings["enabled"] = True
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        await editor.status("ready")
        assert await editor.texts(0, 0) == ["foo(bar)"]


async def test_pushed_settings(wire: WireServer) -> None:
    """An editor that is not asked pushes them, wrapped in the section or not."""
    async with Editor() as editor:
        await editor.initialize()
        editor.notify(
            "workspace/didChangeConfiguration", {"settings": {"codeserve": {"serverUrl": wire.url}}}
        )
        await editor.status("ready")


async def test_token_by_request(wire: WireServer) -> None:
    """The editor hands over the token by a request; a refused one is told and not tried again by itself."""
    wire.token = "s3cret"
    async with Editor(settings={"serverUrl": wire.url, "token": "s3cret"}) as editor:
        await editor.initialize()
        await editor.status("unauthorized")
        assert await editor.ask("codeserve/token", {"token": "s3cret"}) == {}
        await editor.status("ready")


async def test_a_token_for_one_server_is_not_told_another(wire: WireServer) -> None:
    """A token that came with a server's address stays here when the settings name another server."""
    async with WireServer() as other, Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize()
        await editor.status("ready")
        await editor.ask("codeserve/token", {"token": "s3cret", "serverUrl": wire.url})
        await editor.status("ready")
        editor.notes.clear()
        editor.notify("workspace/didChangeConfiguration", {"settings": {"serverUrl": other.url}})
        await editor.status("ready")
        assert other.hellos[0].get("token") is None
    assert wire.hellos[-1]["token"] == "s3cret"


async def test_token_from_variable_and_file(wire: WireServer, tmp_path: Path) -> None:
    """A variable or a file holds the token; the file is read anew for the reconnect command."""
    wire.token = "s3cret"
    async with Editor(settings={"serverUrl": wire.url}, CODESERVE_TOKEN="s3cret") as editor:
        await editor.initialize()
        await editor.status("ready")
    file = tmp_path / "token"
    file.write_text("old\n")
    async with Editor(settings={"serverUrl": wire.url, "tokenFile": str(file)}) as editor:
        await editor.initialize()
        await editor.status("unauthorized")
        file.write_text("s3cret\n")
        await editor.ask("workspace/executeCommand", {"command": "codeserve.reconnect"})
        await editor.status("ready")


async def test_missing_token_file_is_told(wire: WireServer) -> None:
    """A token file that is not there is a status with the reason."""
    async with Editor(settings={"serverUrl": wire.url, "tokenFile": "/nowhere/token"}) as editor:
        await editor.initialize()
        assert "/nowhere/token" in (await editor.status("misconfigured"))["reason"]


async def test_menu_completion_for_other_editors(wire: WireServer) -> None:
    """An editor without inline completion gets it as an entry of the completion menu, and only then."""
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        capabilities = await editor.initialize({})
        assert "completionProvider" in capabilities
        await editor.status("ready")
        editor.open("x = pre")
        params = {"textDocument": {"uri": editor.uri}, "position": {"line": 0, "character": 7}}
        answer = await editor.ask("textDocument/completion", params)
        [item] = answer["items"]
        assert answer["isIncomplete"] is True
        assert item["filterText"] == item["label"] == "prefoo(bar)"
        assert item["textEdit"] == {
            "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 7}},
            "newText": "prefoo(bar)",
        }
    async with Editor() as editor:
        assert "completionProvider" not in await editor.initialize()


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


async def test_prewarm_on_open_and_at_rest(editor: Editor, wire: WireServer) -> None:
    """A document that was opened, and a place where the cursor rests, are read ahead."""
    [first] = await wire.wait_for("prewarm")
    assert (first["document"], first["prefix"]) == ("untitled:a.py", "")
    editor.open("one\ntwo\n", "untitled:b.py")
    for line in (0, 1):
        editor.notify(
            "codeserve/didMoveCursor",
            {"textDocument": {"uri": editor.uri}, "position": {"line": line, "character": 1}},
        )
    second = (await wire.wait_for("prewarm", 2))[1]
    assert (second["document"], second["prefix"]) == ("untitled:b.py", "one\nt")


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


async def test_log_holds_no_source_and_no_token(wire: WireServer, tmp_path: Path) -> None:
    """At the finest level, with failures on the way, neither code nor token gets into the log."""
    log = tmp_path / "lsp.log"
    arguments = ("--log-file", str(log), "--log-level", "debug")
    async with Editor(settings={"serverUrl": wire.url}, arguments=arguments) as editor:
        await editor.initialize()
        await editor.ask("codeserve/token", {"token": "t0ken"})
        await editor.status("ready")
        editor.open("sour_ce")
        await editor.texts(0, 7)
        editor.change(0, 0, "sour_ce")
        with pytest.raises(Failed):
            await editor.ask(
                "textDocument/inlineCompletion", {"textDocument": "sour_ce", "position": "sour_ce"}
            )
        with pytest.raises(Failed):
            await editor.ask("workspace/executeCommand", {"command": "sour_ce", "arguments": ["sour_ce"]})
        editor.notify("textDocument/didChange", {"textDocument": "sour_ce"})
        await wire.stop()
        await editor.status("offline")
        assert await editor.quit() == 0
        stderr = editor.process.stderr
        assert stderr is not None
        assert await stderr.read() == b""
    text = log.read_text()
    assert "codeserve" in text
    for secret in ("sour_ce", "t0ken", "foo(bar)"):
        assert secret not in text
