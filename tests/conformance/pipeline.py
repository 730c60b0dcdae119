"""All of codeserve, from the editor's pipe to the engine, which plays what a case says.

The language server is the real process, the WebSocket server, prompts, tokenizer and stream are the real
ones; only the engine is scripted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any

import attrs

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.server.app import Server
from codeserve.settings import ServerSettings
from tests.conformance.case import Case, plain
from tests.conformance.positions import position_of
from tests.lsp.editor import Editor
from tests.scripted_engine import Ids, ScriptedEngine, Stall, Step, Sure
from tests.server.peer import until

__all__ = ["Outcome", "Pipeline", "pipeline"]

MODEL = Path(__file__).parents[2] / "models" / "mini-codellama"

# As users have it, but for what asks without being asked, and what other files add to the prompt. Said at the
# start: what a case does not name is as it is here.
SETTINGS = {"candidates": 1, "prewarm": False, "prefetch": "off", "openFiles": False, "imports": False}
MIN_CONFIDENCE = -1.0  # of the server
# Where the model says all that it has to say a busy machine may take its time; else the budget is waited for.
BUDGET_MS, STALLED_MS = 10_000, 1_000
_ENDS = {"eot": "▁<EOT>", "eos": "</s>"}


@attrs.frozen
class Outcome:
    """What came of a case: the edits that are offered, or why there are none."""

    edits: list[tuple[tuple[int, int], tuple[int, int], str]]  # start, end, text
    reason: str
    asked: int  # requests to the model
    before: str  # what the model was given in front of the cursor
    behind: str


class Pipeline:
    """Runs cases one after the other; language servers are started when first needed."""

    def __init__(self, engine: ScriptedEngine, tokenizer: Tokenizer, url: str, stack: AsyncExitStack) -> None:
        self._engine = engine
        self._tokenizer = tokenizer
        self._url = url
        self._stack = stack
        self._editors: dict[tuple[str, bool], Editor] = {}
        self._numbers = count()

    async def run(self, case: Case) -> Outcome:
        """What the editor is told."""
        editor = await self._editor(case)
        budget = STALLED_MS if case.ends == "stall" else BUDGET_MS
        settings = {"budgetMs": budget} | case.settings
        editor.notify("workspace/didChangeConfiguration", {"settings": {"codeserve": settings}})
        if case.settings.get("enabled", True):
            await editor.status("ready")
        self._engine.requests.clear()
        self._engine.play(*self._script(case))
        answers = (await editor.ask("codeserve/stats"))["answers"]
        close = self._open(editor, case)
        text, cursor = case.text, case.cursor
        if case.deleted:
            cursor -= case.deleted
            text = self._change(editor, case, text, cursor, case.deleted, "")
        request = self._request(editor, case, text, cursor)
        if case.meanwhile:
            await until(lambda: self._engine.requests)
            self._change(editor, case, text, cursor, 0, case.meanwhile)
        answer = await request
        if case.typed:
            answers = (await editor.ask("codeserve/stats"))["answers"]
            text = self._change(editor, case, text, cursor, 0, case.typed)
            answer = await self._request(editor, case, text, cursor + len(case.typed))
        after = (await editor.ask("codeserve/stats"))["answers"]
        close()
        told = [reason for reason in after if after[reason] != answers.get(reason, 0)]
        before, behind = self._prompt()
        return Outcome(
            edits=[_edit(item) for item in answer["items"]],
            reason="" if told == ["shown"] else ", ".join(told),
            asked=len(self._engine.requests),
            before=before,
            behind=behind,
        )

    async def _editor(self, case: Case) -> Editor:
        kind = case.encoding, case.menu
        if kind not in self._editors:
            editor = Editor(settings=SETTINGS | {"serverUrl": self._url})
            self._editors[kind] = await self._stack.enter_async_context(editor)
            knows: dict[str, Any] = {"completion": {}} if case.menu else {"inlineCompletion": {}}
            general = {"positionEncodings": [case.encoding]}
            told = await editor.initialize({"general": general, "textDocument": knows})
            assert told.get("positionEncoding", "utf-16") == case.encoding
            await editor.status("ready")
        return self._editors[kind]

    def _script(self, case: Case) -> list[Step]:
        ids = self._tokenizer.encode_infilling(case.output)
        for token in [*case.tokens, *filter(None, [_ENDS.get(case.ends)])]:
            id = self._tokenizer.token_id(token) if isinstance(token, str) else token
            assert id is not None, token
            ids.append(id)
        size = case.chunk or len(ids)
        steps: list[Step] = []
        sure = iter(case.logprobs)
        for at in range(0, len(ids), size):
            steps += map(Sure, islice(sure, 1))
            steps.append(Ids(tuple(ids[at : at + size])))
        return [*steps, Stall()] if case.ends == "stall" else steps

    def _open(self, editor: Editor, case: Case) -> Any:
        number = next(self._numbers)
        if not case.cells:
            editor.open(case.text, case.uri or f"untitled:{number}", case.language)
            uri = editor.uri
            return lambda: editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        book = f"untitled:{number}.ipynb"
        uris = [f"vscode-notebook-cell:{number}#{place}" for place in range(len(case.cells))]
        cells = [
            {"kind": 1 if cell.markup else 2, "document": uri}
            for cell, uri in zip(case.cells, uris, strict=True)
        ]
        texts = [
            {
                "uri": uri,
                "languageId": cell.language or case.language,
                "version": 1,
                "text": plain(cell.text),
            }
            for cell, uri in zip(case.cells, uris, strict=True)
        ]
        document = {"uri": book, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
        editor.notify("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": texts})
        editor.uri = uris[case.place]
        ids = [{"uri": uri} for uri in uris]
        return lambda: editor.notify(
            "notebookDocument/didClose", {"notebookDocument": {"uri": book}, "cellTextDocuments": ids}
        )

    @staticmethod
    def _change(editor: Editor, case: Case, text: str, cursor: int, delete: int, new: str) -> str:
        start = position_of(text, cursor, case.encoding)
        end = position_of(text, cursor + delete, case.encoding)
        editor.replace(start, end, new)
        return text[:cursor] + new + text[cursor + delete :]

    @staticmethod
    def _request(editor: Editor, case: Case, text: str, cursor: int) -> asyncio.Future[Any]:
        line, character = position_of(text, cursor, case.encoding)
        params: dict[str, Any] = {
            "textDocument": {"uri": editor.uri},
            "position": {"line": line, "character": character},
        }
        if case.menu:
            return editor.start("textDocument/completion", params)[1]
        params["context"] = {"triggerKind": 1 if case.trigger == "invoked" else 2}
        if case.selected is not None:
            start, end = (position_of(text, offset, case.encoding) for offset in case.span)
            span = {"start": _point(start), "end": _point(end)}
            params["context"]["selectedCompletionInfo"] = {"range": span, "text": case.selected}
        return editor.start("textDocument/inlineCompletion", params)[1]

    def _prompt(self) -> tuple[str, str]:
        """What the model was given: <s> <PRE> <SUF> behind <MID> before."""
        if not self._engine.requests:
            return "", ""
        ids = self._engine.requests[-1].prompt_token_ids
        suffix, middle = (ids.index(self._id(name)) for name in ("▁<SUF>", "▁<MID>"))
        decode = self._tokenizer.decode_infilling
        return decode(ids[middle + 1 :]), decode(ids[suffix + 1 : middle])

    def _id(self, token: str) -> int:
        id = self._tokenizer.token_id(token)
        assert id is not None
        return id


def _point(position: tuple[int, int]) -> dict[str, int]:
    return {"line": position[0], "character": position[1]}


def _edit(item: dict[str, Any]) -> tuple[tuple[int, int], tuple[int, int], str]:
    edit = item.get("textEdit") or {"range": item["range"], "newText": item["insertText"]}
    start, end = edit["range"]["start"], edit["range"]["end"]
    return (start["line"], start["character"]), (end["line"], end["character"]), edit["newText"]


@asynccontextmanager
async def pipeline() -> AsyncIterator[Pipeline]:
    """The pipeline, on a free port."""
    tokenizer = Tokenizer.load(MODEL)
    builder = PromptBuilder(tokenizer, fim_format("codellama-spm", tokenizer))
    engine = ScriptedEngine(tokenizer)
    settings = ServerSettings(port=0, drain_seconds=0)
    server = Server(settings, engine, builder, tokenizer, min_confidence=MIN_CONFIDENCE)
    await server.start()
    try:
        async with AsyncExitStack() as stack:
            yield Pipeline(engine, tokenizer, f"ws://127.0.0.1:{server.port}", stack)
    finally:
        await server.close()
