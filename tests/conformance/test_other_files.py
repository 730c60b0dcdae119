"""What other files say, through the whole of codeserve: in the prompts of models that it helps alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.server.app import Server
from codeserve.settings import ServerSettings
from tests.conformance.pipeline import MODEL
from tests.lsp.editor import Editor
from tests.scripted_engine import ScriptedEngine

DOCUMENT = "from shapes import Box\n\nbox = Box()\nbox."
CONTEXT = """\
# Path: shapes.py
# class Box:
#     def fill(self) -> None: ...
# Path: other.py
# OTHER = 1
"""
SHAPES = "class Box:\n    def fill(self) -> None: ...\n"


async def asked(folder: Path, most: int | None) -> str:
    """What the model is given in front of the cursor, where snippets may have ``most`` tokens."""
    (folder / "shapes.py").write_text(SHAPES)
    tokenizer = Tokenizer.load(MODEL)
    engine = ScriptedEngine(tokenizer)
    engine.play("fill()")
    builder = PromptBuilder(tokenizer, fim_format("codellama-spm", tokenizer), snippet_tokens=most)
    server = Server(ServerSettings(port=0, drain_seconds=0), engine, builder, tokenizer)
    await server.start()
    settings = {"serverUrl": f"ws://127.0.0.1:{server.port}", "budgetMs": 10_000}
    try:
        async with Editor(settings=settings) as editor:
            await editor.initialize(folders=[folder])
            await editor.status("ready")
            editor.open("OTHER = 1\n", (folder / "other.py").as_uri())
            editor.open(DOCUMENT, (folder / "main.py").as_uri())
            await asyncio.sleep(1)  # the cursor rests, what there is of other files is collected and read
            assert await editor.texts(3, 4) == ["fill()"]
    finally:
        await server.close()
    ids = engine.requests[-1].prompt_token_ids
    middle = tokenizer.token_id("▁<MID>")
    assert middle is not None
    return tokenizer.decode_infilling(ids[ids.index(middle) + 1 :])


@pytest.mark.parametrize(
    ("most", "context"),
    [
        (None, CONTEXT),
        (0, ""),
    ],
    ids=["a quarter", "none"],
)
async def test_prompt(tmp_path: Path, most: int | None, context: str) -> None:
    """The completion's prompt has as much of other files as the model is given, and the code behind it."""
    assert (await asked(tmp_path, most)).removeprefix(" ") == context + DOCUMENT
