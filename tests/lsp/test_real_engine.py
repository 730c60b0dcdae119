"""The language server before the real server with the bundled model."""

from __future__ import annotations

import ast

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
    source = "import os\r\n\r\n\r\ndef names(folder):\r\n    found = []\r\n    \r\n"
    async with (
        real_server(engine) as url,
        Editor(settings={"serverUrl": url, "budgetMs": PATIENT_MS}) as editor,
    ):
        await editor.initialize()
        await editor.status("ready")
        editor.open(source)
        [text] = await editor.texts(5, 4)
        assert text.count("\n") == text.count("\r\n")
        ast.parse(source.removesuffix("\r\n") + text)


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
