from __future__ import annotations

import io
import json
from typing import Any

import pytest
import structlog

from codeserve.server.logging import configure_logging, document_hash, label
from tests.scripted_engine import Fault, ScriptedEngine
from tests.server.conftest import StartServer
from tests.server.peer import peer, until


def events(logs: io.StringIO, name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in logs.getvalue().splitlines()]
    return [line for line in lines if line["event"] == name]


async def test_one_event(start_server: StartServer, logs: io.StringIO) -> None:
    """Each request is one event, with how it ended, its times and its tokens."""
    server = await start_server()
    async with peer(server) as one:
        await one.ask("7", document="file:///a.py", language="python")
    (event,) = events(logs, "completion")
    assert (event["id"], event["language"], event["finish"], event["client"]) == (
        "7",
        "python",
        "stop",
        "test",
    )
    assert event["document"] == document_hash("file:///a.py")
    assert event["level"] == "info"
    assert event["total_ms"] >= event["ttft_ms"] >= 0
    assert event["prompt_tokens"] > 0
    assert event["output_tokens"] > 0


async def test_nothing_private(
    start_server: StartServer, scripted: ScriptedEngine, logs: io.StringIO
) -> None:
    """Neither code nor path nor token nor document is ever logged, at any level, whatever goes wrong."""
    server = await start_server(token="planted-token", max_frame_bytes=20_000)
    private = {
        "document": "file:///planted.py",
        "path": "planted.py",
        "suffix": "planted()",
        "language": "planted" * 10,
        "snippets": [{"path": "planted/b.py", "text": "planted = 1"}],
    }
    scripted.play("planted = 2\n")
    async with peer(server, greet=False) as bad:
        await bad.hello(token="planted-wrong")
        await bad.closed()
    async with peer(server, greet=False) as one:
        await one.hello(token="planted-token", client='import planted; print("planted")')
        await one.ask("1", "planted = 3\n", **private)
        await one.ask('planted = """', "planted = 3\n", **private)
        scripted.play_next("planted", Fault("planted"))
        await one.ask("2", "planted = 3\n", **private)
        await one.raw('{"planted')
        await one.send("planted")
        await one.send("complete", id="3", planted="planted", prefix=["planted"])
        await one.raw(b"planted")
        await one.is_alive()
        await one.complete("4", "planted" * 5000)
        await one.closed()
    await until(lambda: not server._connections)
    assert events(logs, "completion")
    assert "planted" not in logs.getvalue()


def test_document_hash() -> None:
    """A document's hash is the same for the same document, short, and not the plain hash of its path."""
    assert document_hash("a") == document_hash("a") != document_hash("b")
    assert len(document_hash("\ud800")) == 8


@pytest.mark.parametrize("text", ["", "neovim 0.11", "codeserve-lsp/0.1.0", "c++", "req-12"])
def test_label(text: str) -> None:
    """A name that looks like one is logged as it is."""
    assert label(text) == text


@pytest.mark.parametrize("text", ["x = 'a'", "a\nb", "a" * 65, "\x1b[31m", "é", "f(x)"])
def test_no_label(text: str) -> None:
    """Anything else, control characters and code among it, is not."""
    assert label(text) == "?"


def test_formats() -> None:
    """JSON holds one object a line; console output is for reading; auto is JSON where nobody reads."""
    for format, is_json in (("json", True), ("auto", True), ("console", False)):
        stream = io.StringIO()
        configure_logging("info", format, stream)
        structlog.get_logger("x").info("happened", key=1)
        structlog.get_logger("x").debug("unseen")
        assert stream.getvalue().startswith("{") is is_json
        assert "happened" in stream.getvalue()
        assert "unseen" not in stream.getvalue()
