"""The language server before the real server with the bundled model."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest

from codeserve.engine.base import Engine
from tests.lsp.editor import Editor
from tests.lsp.real import real_server

pytestmark = pytest.mark.engine

SOURCE = 'def add(a, b):\n    """Return the sum of a and b."""\n    return \n\n\nprint(add(1, 2))\n'
# No test here is about speed: a machine without a GPU may need longer than the usual budget.
PATIENT_MS = 10_000


async def test_completion_that_compiles(engine: Engine) -> None:
    """A line is completed with the model's text, and the file with it in place is Python."""
    async with (
        real_server(engine) as url,
        Editor(settings={"serverUrl": url, "budgetMs": PATIENT_MS}) as editor,
    ):
        await editor.initialize()
        assert (await editor.status("ready"))["model"]
        editor.open(SOURCE)
        [text] = await editor.texts(2, 11)
        ast.parse(SOURCE.replace("return ", "return " + text))
        # typing its first character leaves the rest, without another request
        editor.change(2, 11, text[0])
        if rest := text[1:]:
            assert await editor.texts(2, 12) == [rest]
        stats = await editor.ask("codeserve/stats", {})
        assert stats["requests"] == 1


async def test_windows_line_ends(engine: Engine) -> None:
    """In a document with CRLF everything that is put in has CRLF too."""
    source = "def total(values):\r\n    result = 0\r\n    \r\n    return result\r\n"
    async with (
        real_server(engine) as url,
        Editor(settings={"serverUrl": url, "budgetMs": PATIENT_MS}) as editor,
    ):
        await editor.initialize()
        await editor.status("ready")
        editor.open(source)
        [text] = await editor.texts(2, 4)
        assert text.count("\n") == text.count("\r\n") > 0
        ast.parse(source.replace("    \r\n", f"    {text}\r\n"))


async def test_budget_holds(engine: Engine) -> None:
    """Within the usual budget there is an answer for each keystroke, whatever the machine can do."""
    async with real_server(engine) as url, Editor(settings={"serverUrl": url}) as editor:
        await editor.initialize()
        await editor.status("ready")
        editor.open(SOURCE)
        for column, char in enumerate("value = a"):
            editor.change(3, column, char)
            _, took = await editor.timed(3, column + 1)
            assert took < 400  # the engine runs in this process: the editor's own clock is held up by it


async def test_prewarmed_place(engine: Engine, tmp_path: Path) -> None:
    """Where the cursor has rested, nearly all of the first completion's prompt is in the server's cache, with
    what goes along from another file."""
    (tmp_path / "shapes.py").write_text(
        "class Box:\n    def __init__(self, width: int) -> None:\n        pass\n"
    )
    lines = [f"value_{i} = compute(value_{i - 1}, scale={i}, name='number {i}')\n" for i in range(1, 80)]
    text = "from shapes import Box\n" + "".join(lines)
    settings = {"budgetMs": PATIENT_MS, "triggers": {"insideWord": True}}

    async def cached_share(line: int, *, rested: bool) -> float:
        async with (
            real_server(engine) as url,
            Editor(settings=settings | {"serverUrl": url, "prewarm": rested}) as editor,
        ):
            await editor.initialize(folders=[tmp_path])
            await editor.status("ready")
            editor.open(text.replace("compute", f"f{line}"), (tmp_path / f"main_{line}.py").as_uri())
            if rested:
                place = {"textDocument": {"uri": editor.uri}, "position": {"line": line, "character": 0}}
                editor.notify("codeserve/didMoveCursor", place)
            async with asyncio.timeout(60):
                stats = await editor.ask("codeserve/stats", {})
                while rested and stats["prewarms"] == 0:
                    await asyncio.sleep(0.05)
                    stats = await editor.ask("codeserve/stats", {})
            await asyncio.sleep(2)  # the server is given the time to read everything
            await editor.texts(line, 0)
            stats = await editor.ask("codeserve/stats", {})
            assert stats["promptTokens"] > 1_000
            cached: float = stats["cachedTokens"] / stats["promptTokens"]
            return cached

    assert await cached_share(40, rested=False) < 0.1
    assert await cached_share(60, rested=True) > 0.95
