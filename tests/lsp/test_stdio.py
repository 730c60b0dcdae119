"""Reading messages from a stream, whole or broken, and when they came in."""

from __future__ import annotations

import asyncio
import io
import os
import sys
import time
from typing import Any

import pytest

from codeserve_lsp.stdio import MAX_BODY, MAX_HEADER, read_messages, serve
from tests.lsp.editor import Editor


def read(raw: bytes) -> list[bytes]:
    bodies: list[bytes] = []
    read_messages(io.BytesIO(raw), bodies.append)
    return bodies


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def test_messages_one_after_another() -> None:
    """Bodies come out whole, whatever other headers there are and however they are written."""
    raw = b"Content-Length: 2\r\n\r\n{}content-type: x\r\nCONTENT-LENGTH:3\r\n\r\n{ }"
    assert read(raw) == [b"{}", b"{ }"]


def test_a_stream_that_breaks_off() -> None:
    """A message that is not whole is none."""
    for raw in (b"", b"Content-Length: 2\r\n\r\n{", b"Content-Length: 2\r\n"):
        assert read(raw) == []


@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Length: x\r\n\r\n{}",
        b"Other: 1\r\n\r\n{}",
        b"Content-Length: -1\r\n\r\n{}",
        b"Content-Length: %d\r\n\r\n{}" % (MAX_BODY + 1),
        b"Content-Length: %s\r\n\r\n{}" % (b"9" * 5_000),
        b"x" * (MAX_HEADER + 1),
        b"\xff\xfe\x00" * 10 + b"\r\n\r\n{}",
    ],
)
def test_a_header_without_a_length(raw: bytes) -> None:
    """Where the next message begins is not known any more."""
    with pytest.raises(ValueError, match=r"length|int|bytes|end|digits"):
        read(raw)


async def test_the_clock_starts_when_a_message_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that waits behind a slow one has come in when its bytes did, not when its turn came."""
    inward, outward = os.pipe()
    came: list[float] = []
    handled: list[float] = []

    class Handler:
        def set_writer(self, writer: Any) -> None: ...

        def structure_message(self, data: dict[str, Any]) -> Any:
            return data

        def handle_message(self, message: Any) -> None:
            handled.append(time.monotonic())
            if len(handled) == 1:
                os.write(outward, framed(b"{}"))
                time.sleep(0.3)
            else:
                os.close(outward)

    monkeypatch.setattr(sys, "stdout", sys.stdout)
    with os.fdopen(inward, "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(outward, framed(b"{}"))
        await serve(Handler(), came.append)
    assert handled[1] - handled[0] >= 0.3
    assert came[1] - came[0] < 0.25


async def test_lone_surrogates_and_nonsense_do_no_harm() -> None:
    """Half a character, a body that is no JSON and one that is no message are lived through."""
    async with Editor(settings={"serverUrl": "ws://127.0.0.1:9"}) as editor:
        await editor.initialize()
        editor.open("\ud83d")
        stdin = editor.process.stdin
        assert stdin is not None
        deep = b"[" * 100_000
        for body in (b"{", b"[]", b"7", b"", b"\xff\xfe", deep, b'{"jsonrpc": "1.0", "id": 1}', b"{}"):
            stdin.write(framed(body))
        assert await editor.texts(0, 1) == []
        assert await editor.quit() == 0


@pytest.mark.parametrize("raw", [b"Content-Length: 99999999999999\r\n\r\n{}", b"GET / HTTP/1.1\r\n\r\nx"])
async def test_a_broken_stream_ends_the_process(raw: bytes) -> None:
    """What cannot be read ends the process with a line and a status that say so, and never hangs."""
    async with Editor(settings={"serverUrl": "ws://127.0.0.1:9"}) as editor:
        await editor.initialize()
        stdin, stderr = editor.process.stdin, editor.process.stderr
        assert stdin is not None
        assert stderr is not None
        stdin.write(raw)
        async with asyncio.timeout(20):
            assert await editor.process.wait() == 1
        assert "cannot be read any more" in (await stderr.read()).decode()


async def test_exit_without_shutdown() -> None:
    """The exit status says that there was no shutdown before."""
    async with Editor() as editor:
        await editor.initialize()
        editor.notify("exit", None)
        assert await editor.process.wait() == 1
