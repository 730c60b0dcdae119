"""How the real process begins and ends, whatever order things come in."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.lsp.editor import INLINE, ROOT, Editor, Failed
from tests.lsp.wire_server import WireServer


async def stderr_of(editor: Editor) -> str:
    stderr = editor.process.stderr
    assert stderr is not None
    return (await stderr.read()).decode()


async def test_request_shutdown_and_exit_at_once(editor: Editor, wire: WireServer) -> None:
    """Each request has its answer before the process is gone, and it went in good order."""
    wire.text = None
    editor.change(0, 0, "x = ")
    completion = editor.start_inline(0, 4)[1]
    shutdown = editor.start("shutdown", None)[1]
    editor.notify("exit", None)
    async with asyncio.timeout(10):
        assert await editor.process.wait() == 0
        assert (await completion)["items"] == []
        assert await shutdown is None


async def test_a_shutdown_that_is_cancelled(editor: Editor) -> None:
    """The exit behind it is in order all the same."""
    id, answer = editor.start("shutdown", None)
    editor.notify("$/cancelRequest", {"id": id})
    await asyncio.wait([answer], timeout=10)
    assert answer.done()
    answer.exception()
    editor.notify("exit", None)
    assert await editor.process.wait() == 0


async def test_exit_without_shutdown_says_nothing(editor: Editor) -> None:
    """Its status tells, and nothing fails on the way."""
    editor.notify("exit", None)
    assert await editor.process.wait() == 1
    assert await stderr_of(editor) == ""


async def test_before_initialize(wire: WireServer) -> None:
    """A request is told that it came too early, and a notification does nothing."""
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        editor.open("x = ")
        with pytest.raises(Failed, match="-32002"):
            await editor.inline(0, 4)
        await editor.initialize()
        await editor.status("ready")
        assert await editor.texts(0, 4) == []
        assert await editor.quit() == 0


async def test_a_second_initialize(editor: Editor, wire: WireServer) -> None:
    """It is refused, and changes nothing."""
    again = {
        "processId": None,
        "rootUri": None,
        "capabilities": {"general": {"positionEncodings": ["utf-8"]}},
        "initializationOptions": {"serverUrl": "ws://127.0.0.1:9"},
    }
    with pytest.raises(Failed, match="-32600"):
        await editor.ask("initialize", again)
    editor.change(0, 0, "x = '\u20ac' + ")
    assert await editor.texts(0, 10) == ["foo(bar)"]
    assert (await wire.wait_for("complete"))[0]["prefix"] == "x = '\u20ac' + "


@pytest.mark.parametrize("id", [["x"], {}, None, True, 1.5])
async def test_an_id_that_is_none(editor: Editor, id: Any) -> None:
    """The answer is an error without an id, as JSON-RPC has it, and no failure is logged."""
    with pytest.raises(Failed, match="-32600"):
        await asyncio.wait_for(editor.start_with(id, "codeserve/stats"), 10)
    assert await editor.quit() == 0
    assert "Traceback" not in await stderr_of(editor)


def test_answers_that_nobody_reads() -> None:
    """The process ends, with one line that says why."""
    process = subprocess.Popen(
        [sys.executable, "-m", "codeserve_lsp.cli"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "lsp")])},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    params = {"processId": None, "rootUri": None, "capabilities": INLINE}
    for id in range(3):
        body = {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}
        raw = json.dumps(body).encode()
        process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))
    process.stdin.flush()
    assert process.wait(20) == 0
    told = process.stderr.read().decode()
    process.stdin.close()
    process.stderr.close()
    assert len(told.splitlines()) == 1
    assert "reads no answers any more" in told


async def test_a_process_that_is_gone() -> None:
    """The end of the editor's process is the server's, though another one holds the pipe open."""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    async with Editor() as editor:
        await editor.ask("initialize", {"processId": parent.pid, "rootUri": None, "capabilities": INLINE})
        await parent.communicate(b"\n")
        async with asyncio.timeout(20):
            assert await editor.process.wait() == 0
        assert "process is gone" in await stderr_of(editor)
