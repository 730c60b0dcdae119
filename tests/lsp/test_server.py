"""The real process over its pipes: completions, and what the editor says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lsp.editor import INLINE, Editor
from tests.lsp.wire_server import WireServer


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
    editor.change(0, 8, "\n")
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


@pytest.mark.parametrize(
    ("position", "place"),
    [((0, 99), (0, 7)), ((9, 3), (1, 2)), ((2**31 - 1, 2**31 - 1), (1, 2)), ((0, 5), (0, 4))],
)
async def test_no_range_outside_the_text(
    editor: Editor, position: tuple[int, int], place: tuple[int, int]
) -> None:
    """A position that the text does not have is answered at the one that it means."""
    editor.open("x = 🙂;\nyy")
    [item] = await editor.inline(*position, triggerKind=1)
    here = {"line": place[0], "character": place[1]}
    assert item["range"] == {"start": here, "end": here}


@pytest.mark.parametrize(
    ("start", "end", "answered"),
    [
        ((0, 2), (0, 4), ((0, 2), (0, 4))),
        ((0, 2), (0, 99), ((0, 2), (0, 6))),
        ((0, 4), (0, 2), None),
        ((0, 5), (0, 6), None),
        ((0, 0), (0, 3), None),
        ((0, 2), (7, 0), None),
    ],
)
async def test_the_range_of_a_picked_entry(
    editor: Editor,
    start: tuple[int, int],
    end: tuple[int, int],
    answered: tuple[tuple[int, int], tuple[int, int]] | None,
) -> None:
    """It is held to the text, and has to be around the cursor: else nothing is answered."""
    editor.open("x.foo;\nyy")
    points = [{"line": line, "character": character} for line, character in (start, end)]
    picked = {"range": dict(zip(("start", "end"), points, strict=True)), "text": "food"}
    items = await editor.inline(0, 4, selectedCompletionInfo=picked)
    if answered is None:
        assert items == []
        assert (await editor.ask("codeserve/stats", {}))["answers"] == {"not_here": 1}
    else:
        span = [{"line": line, "character": character} for line, character in answered]
        assert [item["range"] for item in items] == [{"start": span[0], "end": span[1]}]
