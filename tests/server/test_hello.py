from __future__ import annotations

import pytest
from websockets.exceptions import InvalidStatus

from tests.scripted_engine import ScriptedEngine
from tests.server.conftest import StartServer
from tests.server.peer import peer

POLICY = 1008


async def test_welcome(start_server: StartServer) -> None:
    """A good hello gets a welcome with the model and the limits."""
    server = await start_server(max_frame_bytes=500_000)
    async with peer(server, greet=False) as one:
        welcome = await one.hello()
    assert welcome["type"] == "welcome"
    assert (welcome["version"], welcome["model"], welcome["state"]) == (1, "scripted", "ready")
    assert welcome["limits"] == {
        "prefix_chars": 65536,
        "suffix_chars": 16384,
        "frame_bytes": 500_000,
        "candidates": 5,
        "deadline_ms": 60_000,
        "context_tokens": 4096,
        "snippet_tokens": 991,
    }


@pytest.mark.parametrize(
    ("settings", "candidates"),
    [({"max_pending": 2}, 2), ({"max_pending_per_connection": 3}, 3), ({"max_pending": 4096}, 5)],
)
async def test_welcome_offers_what_there_is_room_for(
    start_server: StartServer, settings: dict[str, int], candidates: int
) -> None:
    """No more candidates are offered than a client's sequences, or the server's."""
    server = await start_server(**settings)
    async with peer(server, greet=False) as one:
        assert (await one.hello())["limits"]["candidates"] == candidates
        assert (await one.ask("1", candidates=candidates)).finish == "stop"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ('{"type": "hello", "version": 99}', "unsupported_version"),
        ('{"type": "hello", "version": 0}', "unsupported_version"),
        ('{"type": "hello", "version": "1"}', "invalid"),
        ('{"type": "hello"}', "invalid"),
        ('{"type": "cancel", "id": "1"}', "hello_required"),
        ('{"type": "nonsense"}', "unknown_type"),
        ("hello", "bad_message"),
        (b"\x00", "bad_message"),
    ],
)
async def test_bad_hello(start_server: StartServer, frame: str | bytes, code: str) -> None:
    """Any other beginning is told what is wrong, then closed with the policy code."""
    server = await start_server()
    async with peer(server, greet=False) as one:
        await one.raw(frame)
        error = await one.next()
        assert (error["type"], error["code"]) == ("error", code)
        assert await one.closed() == POLICY


async def test_no_hello(start_server: StartServer) -> None:
    """A client that says nothing is let go after a while."""
    server = await start_server(hello_seconds=0.05)
    async with peer(server, greet=False) as one:
        assert (await one.next())["code"] == "hello_required"
        assert await one.closed() == POLICY


async def test_second_hello(start_server: StartServer) -> None:
    """A second hello is an error and changes nothing."""
    server = await start_server()
    async with peer(server) as one:
        assert (await one.hello())["code"] == "invalid"
        assert await one.is_alive()


@pytest.mark.parametrize("token", [None, "", "wrong", "right ", "RIGHT", "r\x00ght", "ri\ud800ght"])
async def test_wrong_token(start_server: StartServer, token: str | None) -> None:
    """Where a token is configured, on loopback too, none and a wrong one are refused."""
    server = await start_server(token="right")
    async with peer(server, greet=False) as one:
        if token is not None and "\ud800" in token:
            await one.raw('{"type": "hello", "version": 1, "token": "ri\\ud800ght"}')
            error = await one.next()
        else:
            error = await one.hello(token=token)
        assert error["code"] == "unauthorized"
        assert await one.closed() == POLICY


async def test_right_token(start_server: StartServer) -> None:
    """The right token gets in."""
    server = await start_server(token="right")
    async with peer(server, greet=False) as one:
        assert (await one.hello(token="right"))["type"] == "welcome"


async def test_admin(start_server: StartServer) -> None:
    """Admin messages take a token with that scope, and an action that there is."""
    server = await start_server(token="ops s3cret admin")
    async with peer(server, greet=False) as one:
        await one.hello(token="s3cret")
        await one.send("admin", action="explode", id="1")
        error = await one.next()
        assert (error["code"], error["id"]) == ("invalid", "1")
        assert "status" in error["message"]
        await one.send("admin", action="status")
        assert await one.next() == {"type": "status", "state": "ready", "load": 0.0}


async def test_admin_forbidden(start_server: StartServer) -> None:
    """Without the scope, admin messages are refused, and the connection goes on."""
    server = await start_server()
    async with peer(server) as one:
        await one.send("admin", action="status", id="1")
        error = await one.next()
        assert (error["code"], error["id"]) == ("forbidden", "1")
        assert await one.is_alive()


async def test_web_page(start_server: StartServer) -> None:
    """A web page, which a browser names in Origin, cannot connect unless it is allowed."""
    server = await start_server(allowed_origins=["https://good.example"])
    with pytest.raises(InvalidStatus) as refused:
        async with peer(server, origin="https://evil.example"):
            pass
    assert refused.value.response.status_code == 403
    async with peer(server, origin="https://good.example") as one:
        assert await one.is_alive()


async def test_too_many_connections(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """Over the limit a connection is refused with 503; the others go on."""
    server = await start_server(max_connections=1)
    async with peer(server) as one:
        with pytest.raises(InvalidStatus) as refused:
            async with peer(server):
                pass
        assert refused.value.response.status_code == 503
        assert (await one.ask("1")).finish == "stop"
