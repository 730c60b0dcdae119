"""Reading messages from a stream, whole or broken."""

from __future__ import annotations

import io

import pytest

from codeserve_lsp.stdio import read_messages
from tests.lsp.editor import Editor


def read(raw: bytes) -> list[bytes]:
    bodies: list[bytes] = []
    read_messages(io.BytesIO(raw), bodies.append)
    return bodies


def test_messages_one_after_another() -> None:
    """Bodies come out whole, whatever other headers there are and however they are written."""
    raw = b"Content-Length: 2\r\n\r\n{}content-type: x\r\nCONTENT-LENGTH:3\r\n\r\n{ }"
    assert read(raw) == [b"{}", b"{ }"]


def test_a_stream_that_breaks_off() -> None:
    """A message that is not whole is none."""
    for raw in (b"", b"Content-Length: 2\r\n\r\n{", b"Content-Length: 2\r\n"):
        assert read(raw) == []


@pytest.mark.parametrize("raw", [b"Content-Length: x\r\n\r\n{}", b"Other: 1\r\n\r\n{}"])
def test_a_header_without_a_length(raw: bytes) -> None:
    """Where the next message begins is not known any more."""
    with pytest.raises(ValueError, match=r"length|int"):
        read(raw)


async def test_lone_surrogates_and_nonsense_do_no_harm() -> None:
    """Half a character, a body that is no JSON and one that is no message are lived through."""
    async with Editor(settings={"serverUrl": "ws://127.0.0.1:9"}) as editor:
        await editor.initialize()
        editor.open("\ud83d")
        stdin = editor.process.stdin
        assert stdin is not None
        for body in (b"{", b"[]", b"7", b'{"jsonrpc": "1.0", "id": 1}', b"{}"):
            stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert await editor.texts(0, 1) == []
        assert await editor.quit() == 0


async def test_exit_without_shutdown() -> None:
    """The exit status says that there was no shutdown before."""
    async with Editor() as editor:
        await editor.initialize()
        editor.notify("exit", None)
        assert await editor.process.wait() == 1
