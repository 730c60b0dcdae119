from __future__ import annotations

import asyncio
import json

import pytest

from codeserve.engine.base import EngineState
from codeserve.server.app import Server
from tests.scripted_engine import ScriptedEngine
from tests.server.conftest import StartServer


async def request(server: Server, line: str, *headers: str) -> tuple[int, str, str]:
    """Send one HTTP request; returns status, header and body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    text = "\r\n".join([f"{line} HTTP/1.1", "Host: x", *headers, "", ""])
    writer.write(text.encode())
    async with asyncio.timeout(10):
        answer = (await reader.read()).decode()
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), head, body


async def get(server: Server, path: str, *headers: str) -> tuple[int, str, str]:
    return await request(server, f"GET {path}", *headers)


async def test_health(server: Server, scripted: ScriptedEngine) -> None:
    """/healthz is 200 whatever the engine does."""
    scripted.state = EngineState.FAILED
    status, _, body = await get(server, "/healthz")
    assert (status, body) == (200, "ok\n")


async def test_ready(server: Server, scripted: ScriptedEngine) -> None:
    """/readyz is 200 when requests are taken, else 503 with state, stage and reason."""
    assert (await get(server, "/readyz"))[0] == 200
    scripted.state = EngineState.STARTING
    server.progress("loading weights")
    status, head, body = await get(server, "/readyz?verbose")
    assert status == 503
    assert "Content-Type: application/json" in head
    assert json.loads(body) == {"state": "starting", "stage": "loading weights", "reason": ""}
    scripted.state, scripted.failure = EngineState.FAILED, "no memory"
    assert json.loads((await get(server, "/readyz"))[2])["reason"] == "no memory"


async def test_about(server: Server) -> None:
    """/ says in one line what this is."""
    status, head, body = await get(server, "/")
    assert status == 200
    assert body.count("\n") == 1
    assert "Server: codeserve\r\n" in head + "\r\n"  # and not which version of what


@pytest.mark.parametrize("path", ["/nothing", "/healthz/", "//", "/metrics/../x"])
async def test_not_found(server: Server, path: str) -> None:
    """Other paths are 404, for a WebSocket too."""
    assert (await get(server, path))[0] == 404
    upgrade = (
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: " + "A" * 22 + "==",
    )
    assert (await get(server, path, *upgrade))[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
async def test_methods(server: Server, method: str) -> None:
    """Anything but reading is refused."""
    for path in ("/", "/healthz", "/metrics"):
        assert (await request(server, f"{method} {path}"))[0] == 405


async def test_metrics_open(server: Server) -> None:
    """Without tokens, which means on loopback, /metrics is open."""
    status, head, body = await get(server, "/metrics")
    assert status == 200
    assert "Content-Type: text/plain; version=0.0.4" in head
    assert "codeserve_requests_total" in body


async def test_metrics_token(start_server: StartServer) -> None:
    """With tokens, /metrics is for this machine, and for others with a token."""
    server = await start_server(token="secret")
    assert (await get(server, "/metrics"))[0] == 200
    for header in ("X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1"):
        status, head, body = await get(server, "/metrics", header)
        assert status == 401
        assert "WWW-Authenticate: Bearer" in head
        assert "codeserve_" not in body
        assert (await get(server, "/metrics", header, "Authorization: Bearer wrong"))[0] == 401
        assert (await get(server, "/metrics", header, "Authorization: Bearer secret"))[0] == 200
        assert (await get(server, "/healthz", header))[0] == 200
        assert (await get(server, "/readyz", header))[0] == 200


async def test_junk(server: Server) -> None:
    """What is no HTTP is dropped, and the server goes on."""
    for junk in (
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"\r\n" * 10,
        b"GET / HTTP/1.1\r\n" + b"a" * 20_000,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(junk)
        writer.write_eof()
        async with asyncio.timeout(10):
            await reader.read()
        writer.close()
    assert (await get(server, "/healthz"))[0] == 200
