"""The real process and the way to its server: TLS, proxies, and what it says when there is none."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.lsp.editor import Editor
from tests.lsp.wire_server import WireServer

CERTS = Path(__file__).parents[1] / "certs"

# A name that no resolver knows: only the proxy can tell where it is.
HOST = "codeserve.test"


def tls(certificate: str) -> ssl.SSLContext:
    """For a server. The certificates and keys were made for these tests and are good for nothing else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTS / certificate)
    return context


def toasts(editor: Editor) -> list[str]:
    return [name for name, _ in editor.notes if name in ("window/showMessage", "window/showMessageRequest")]


async def test_tls_with_a_ca_file() -> None:
    """With the setting ``caFile`` a completion comes over wss://."""
    async with WireServer(tls=tls("localhost.pem")) as wire:
        settings = {"serverUrl": wire.url, "caFile": str(CERTS / "ca.pem")}
        async with Editor(settings=settings) as editor:
            await editor.initialize()
            assert (await editor.status("ready"))["url"].startswith("wss://")
            editor.open()
            assert await editor.texts(0, 0) == ["foo(bar)"]


async def test_a_server_that_loads_its_model(wire: WireServer) -> None:
    """It is never told of as ready before its model is there."""
    wire.state = "starting"
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize()
        assert "starting" in (await editor.status("loading"))["reason"]
        await wire.peers[0].send(type="status", state="ready")
        await editor.status("ready")
    told = [body["state"] for name, body in editor.notes if name == "codeserve/status"]
    assert told[-2:] == ["loading", "ready"]
    assert told.count("ready") == 1


async def test_the_log_says_how_the_server_is(wire: WireServer) -> None:
    """Who looks why there are no completions finds each state in the log, and no address."""
    async with Editor(arguments=("--log-level", "info"), settings={"serverUrl": wire.url}) as editor:
        await editor.initialize()
        await editor.status("ready")
        await wire.stop()
        await editor.status("offline")
        stream = editor.process.stderr
        assert stream is not None
        log = (await stream.readuntil(b"the completion server: offline")).decode()
    assert "the completion server: ready" in log
    assert wire.url not in log


async def test_a_certificate_that_is_not_trusted() -> None:
    """Without a CA file or with another one: empty answers, a status that says why, no toast; then live it
    works."""
    async with WireServer(tls=tls("localhost.pem")) as wire:
        for ca_file in ("", str(CERTS / "remote.pem")):
            async with Editor(settings={"serverUrl": wire.url, "caFile": ca_file}) as editor:
                await editor.initialize()
                reason = (await editor.status("offline"))["reason"]
                assert "not trusted" in reason
                assert "CA file" in reason
                editor.open()
                assert await editor.texts(0, 0) == []
                settings = {"codeserve": {"caFile": str(CERTS / "ca.pem")}}
                editor.notify("workspace/didChangeConfiguration", {"settings": settings})
                await editor.status("ready")
                assert await editor.texts(0, 0) == ["foo(bar)"]
                assert toasts(editor) == []


@pytest.mark.parametrize("content", [None, "no certificate\n"])
async def test_a_ca_file_that_cannot_be_used(tmp_path: Path, content: str | None) -> None:
    """One that is not there, or holds no certificate, is named in the status."""
    ca_file = tmp_path / "ca.pem"
    if content is not None:
        ca_file.write_text(content)
    async with Editor(settings={"serverUrl": "wss://127.0.0.1:9", "caFile": str(ca_file)}) as editor:
        await editor.initialize()
        assert str(ca_file) in (await editor.status("misconfigured"))["reason"]
        editor.open()
        assert await editor.texts(0, 0) == []
        assert toasts(editor) == []


class Proxy:
    """An HTTP proxy on this machine that takes CONNECT only and leads everything to one port."""

    def __init__(self, port: int) -> None:
        self.asked: list[str] = []
        self._to = port
        self._pumps: set[asyncio.Task[None]] = set()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(request.split("\r\n")[0])
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.create_task(self._pump(source, sink))
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    @staticmethod
    async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                sink.write(data)
                await sink.drain()
        sink.close()


@contextlib.asynccontextmanager
async def proxied(wire: WireServer) -> AsyncIterator[tuple[Proxy, dict[str, str]]]:
    """A proxy to a server, and the variables that name it in either case."""
    proxy = Proxy(wire.port)
    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
        yield proxy, dict.fromkeys(names, url) | {"no_proxy": "", "NO_PROXY": ""}


async def test_proxy_of_the_environment() -> None:
    """A server elsewhere is reached through the proxy that the environment names, in the clear and by TLS."""
    for scheme, context, ca_file in (("ws", None, ""), ("wss", tls("remote.pem"), str(CERTS / "remote.pem"))):
        async with WireServer(tls=context) as wire, proxied(wire) as (proxy, environ):
            settings = {"serverUrl": f"{scheme}://{HOST}:8760", "caFile": ca_file}
            async with Editor(settings=settings, **environ) as editor:
                await editor.initialize()
                await editor.status("ready")
                editor.open()
                assert await editor.texts(0, 0) == ["foo(bar)"]
            assert proxy.asked == [f"CONNECT {HOST}:8760 HTTP/1.1"]


async def test_no_proxy() -> None:
    """A host that NO_PROXY names is not asked for at the proxy: here it is then not known at all."""
    async with WireServer() as wire, proxied(wire) as (proxy, environ):
        environ |= {"no_proxy": HOST, "NO_PROXY": HOST}
        async with Editor(settings={"serverUrl": f"ws://{HOST}:8760"}, **environ) as editor:
            await editor.initialize()
            assert HOST in (await editor.status("offline"))["reason"]
        assert proxy.asked == []


async def test_no_proxy_for_this_machine(wire: WireServer) -> None:
    """A server on this machine is connected to directly, whatever the environment says."""
    async with (
        proxied(wire) as (proxy, environ),
        Editor(settings={"serverUrl": wire.url}, **environ) as editor,
    ):
        await editor.initialize()
        await editor.status("ready")
        assert proxy.asked == []


async def test_a_proxy_that_refuses() -> None:
    """A proxy that does not let through is named as the reason."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        environ = dict.fromkeys(("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"), url)
        environ |= {"no_proxy": "", "NO_PROXY": ""}
        async with Editor(settings={"serverUrl": f"ws://{HOST}:8760"}, **environ) as editor:
            await editor.initialize()
            reason = (await editor.status("offline"))["reason"]
            assert "proxy" in reason
            assert "407" in reason
            assert toasts(editor) == []
