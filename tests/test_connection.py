"""The way to a server: whom the client takes for one, and how much of what it sends is held."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from codeserve.client import Client, ConfigError, ConnectFailed
from codeserve.connection import MAX_CA_BYTES, RECEIVE_BUFFER, Endpoint
from tests.scripted_server import Peer, ScriptedServer


async def refusal(**welcome: object) -> str:
    """Why a client does not take a server with this welcome."""

    async def script(peer: Peer) -> None:
        await peer.receive("hello")
        await peer.send(type="welcome", **({"version": 1, "model": "m", "limits": {}} | welcome))
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        with pytest.raises(ConnectFailed) as failed:
            await client.wait_ready()
        return str(failed.value)


@pytest.mark.parametrize(("version", "which"), [(2, "this client"), (0, "the server")])
async def test_another_version_of_the_protocol(version: int, which: str) -> None:
    """A server of another version is not taken, and the one line says which side to update."""
    reason = await refusal(version=version)
    assert reason.endswith(f"update {which}")
    assert f"version {version} " in reason


@pytest.mark.parametrize(
    "limits",
    [
        {"prefix_chars": -1},
        {"candidates": 0},
        {"deadline_ms": 0},
        {"frame_bytes": 0},
        {"context_tokens": -5},
        {"snippet_tokens": -1},
    ],
)
async def test_limits_that_cannot_be(limits: dict[str, int]) -> None:
    """A server with limits that no request can keep is told by the limit, in one line."""
    reason = await refusal(limits=limits)
    assert next(iter(limits)) in reason
    assert "\n" not in reason


async def test_little_is_held_of_what_a_server_sends_ahead() -> None:
    """The system holds as much as can be told apart within milliseconds."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server:
        connection, _ = await Endpoint(server.url).open()
        held = connection.transport.get_extra_info("socket")
        assert held.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) <= 2 * RECEIVE_BUFFER
        await connection.close()


def test_a_ca_file_that_is_no_file(tmp_path: Path) -> None:
    """A pipe that nobody writes to is not waited for, nor an endless device read; no others count."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "large").write_bytes(b" " * (MAX_CA_BYTES + 1))
    (tmp_path / "empty").touch()
    for name in ("pipe", "zero", "large", "empty", "none"):
        with pytest.raises(ConfigError, match=f"the CA file .*{name} cannot be used: "):
            Endpoint("wss://localhost", ca_file=tmp_path / name)


@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_a_ca_file_that_is_no_path(name: str) -> None:
    """What cannot be a path is told by its name, without what Python says of it."""
    with pytest.raises(ConfigError, match=r"the CA file 'a.*cannot be used") as failed:
        Endpoint("wss://localhost", ca_file=Path(name))
    assert str(failed.value).isprintable()


@pytest.mark.parametrize("how", ["error", "close", "welcome"])
async def test_a_server_that_repeats_the_token(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """What it says when it refuses is neither logged nor shown: only which of the known codes it was."""
    caplog.set_level("DEBUG", "codeserve")

    async def script(peer: Peer) -> None:
        hello = await peer.receive("hello")
        if how == "error":
            await peer.send(type="error", code="invalid", message=f"no: {hello}")
        elif how == "close":
            await peer.connection.close(1008, f"no: {hello['token']}")
        else:
            await peer.send(type="welcome", version=1, model="m", limits={"frame_bytes": hello["token"]})

    async with ScriptedServer(script) as server, Client(server.url, token="to_ken") as client:
        with pytest.raises(ConnectFailed) as failed:
            await client.wait_ready()
    assert {"error": "(invalid)", "close": "close code 1008", "welcome": "frame_bytes"}[how] in str(
        failed.value
    )
    assert "to_ken" not in str(failed.value) + caplog.text


@pytest.mark.parametrize(
    "proxy", ["ftp://u:pass_word@h:1", "http://u:pass_word@", "pass_word", "http://u:pass_word"]
)
async def test_a_proxy_that_is_none(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its URL is not repeated, since a password may be in it."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    async with Client("ws://192.0.2.1:9") as client:
        with pytest.raises(ConnectFailed, match="prox") as failed:
            await client.wait_ready()
    assert "pass_word" not in str(failed.value)
