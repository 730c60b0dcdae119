"""`codeserve check`: what it finds, and what it says to do."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import Request, Response, ServerConnection, serve
from websockets.datastructures import Headers

from codeserve.commands.probe import check_access, check_port
from codeserve.settings import ServerSettings
from tests.cli.command import codeserve
from tests.scripted_server import Peer, ScriptedServer


async def check(*args: str, **env: str) -> tuple[int, dict[str, Any]]:
    """Run ``codeserve check --json``: its exit status, and the findings by name, the last one of each."""
    result = await codeserve("check", "--json", *args, **env)
    assert result.err == ""
    return result.status, {row["name"]: row for row in json.loads(result.out)}


async def test_sound_machine(unused_port: int) -> None:
    """With the bundled model all is well, and the findings name what was looked at."""
    status, found = await check(CODESERVE_PORT=str(unused_port))
    assert (status, {row["status"] for row in found.values()} - {"warn"}) == (0, {"ok"})
    assert {"versions", "settings", "server", "access", "engine", "model", "memory", "port"} <= set(found)
    assert "codeserve 0." in found["versions"]["message"]
    assert found["port"]["message"] == f"127.0.0.1:{unused_port} is free"


async def test_failures_come_with_what_to_do(tmp_path: Path) -> None:
    """A model that is not there, a wrong setting, and a missing token each fail with a way out."""
    status, found = await check("--model", "no-such-model")
    assert (status, found["model"]["status"]) == (1, "fail")
    assert "mini-codellama" in found["model"]["message"]
    config = tmp_path / "codeserve.toml"
    config.write_text("prot = 1\n")
    status, found = await check("--config", str(config))
    assert (status, found["settings"]["status"]) == (1, "fail")
    assert "prot" in found["settings"]["message"]
    status, found = await check(CODESERVE_HOST="0.0.0.0")
    assert (status, found["access"]["status"]) == (1, "fail")
    assert "0.0.0.0 can be reached from other machines" in found["access"]["message"]
    assert "--token-file" in found["access"]["message"]


async def test_a_mistyped_variable_is_told() -> None:
    """A variable that looks like a setting and is none is found, with the one that was meant."""
    _, found = await check(CODESERVE_PROT="1")
    assert found["settings"]["status"] == "warn"
    assert found["settings"]["message"].endswith("did you mean CODESERVE_PORT?")


async def test_a_token_file_that_the_server_would_refuse(tmp_path: Path) -> None:
    """The file is read as the server reads it: the same token twice fails here too."""
    twice = tmp_path / "tokens"
    twice.write_text("ann abc123\nbob abc123\n")
    status, found = await check(CODESERVE_TOKEN_FILE=str(twice))
    assert (status, found["access"]["status"]) == (1, "fail")
    assert "twice" in found["access"]["message"]


async def test_table_ends_with_the_next_step(unused_port: int) -> None:
    """For people it is a table that says what to do next."""
    good = await codeserve("check", CODESERVE_PORT=str(unused_port))
    assert (good.status, good.out.splitlines()[-1]) == (0, "All is well: codeserve serve")
    bad = await codeserve("check", "--model", "[/x]")
    assert (bad.status, bad.out.splitlines()[-1]) == (1, "Put right what failed, then check again.")
    assert "[/x]" in bad.out


async def greet(peer: Peer) -> None:
    """A server that welcomes and waits."""
    await peer.welcome()
    await peer.connection.wait_closed()


async def test_remote_server() -> None:
    """With --url, the server there is asked."""
    async with ScriptedServer(greet) as server:
        status, found = await check("--url", server.url)
        assert (status, found["server"]["message"]) == (0, f"{server.url} serves scripted")
    status, found = await check("--url", server.url)
    assert (status, found["server"]["status"]) == (1, "fail")
    assert "no server at" in found["server"]["message"]


@pytest.mark.parametrize(
    ("ready", "body", "message"),
    [
        (200, b"{}", "ready"),
        (503, b'{"state": "starting", "stage": "compiling", "reason": ""}', "not ready: starting compiling"),
        (503, b'{"state": "failed", "stage": "", "reason": "no memory"}', "not ready: failed no memory"),
        (503, b"of a newer kind", "not ready"),
    ],
)
async def test_port_of_a_running_codeserve(ready: int, body: bytes, message: str) -> None:
    """A codeserve that listens already is no failure, but no place to serve either; its state is told."""

    def answer(_: ServerConnection, request: Request) -> Response:
        if request.path == "/healthz":
            return Response(200, "OK", Headers(), b"ok\n")
        return Response(ready, "", Headers({"Connection": "close"}), body)

    async def handle(_: ServerConnection) -> None:
        """Never reached."""

    async with serve(handle, "127.0.0.1", 0, process_request=answer) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        found = await check_port("127.0.0.1", port)
        shown = await codeserve("check", CODESERVE_PORT=str(port))
    where = f"ws://127.0.0.1:{port}"
    told = f"a codeserve runs at {where} ({message}): another one needs another --port"
    assert (found.status, found.message) == ("warn", told)
    assert shown.status == 0
    last = shown.out.splitlines()[-1]
    assert last.startswith("All is well, and a server runs already: codeserve complete")
    assert last.endswith("--url ADDRESS")  # the port is not the one that clients take by themselves


async def test_port_of_another_program() -> None:
    """A port that something else listens on fails."""

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        found = await check_port("127.0.0.1", port)
    assert found.status == "fail"
    assert found.message.endswith("choose another port with --port")


async def test_host_that_is_not_ours() -> None:
    """An address that this machine does not have fails."""
    assert (await check_port("192.0.2.1", 8760)).status == "fail"


def test_token_file(tmp_path: Path) -> None:
    """A token file must be there and hold a token, and should be private."""
    path = tmp_path / "token"
    assert check_access(ServerSettings(token_file=path)).status == "fail"
    path.write_text("\n")
    assert check_access(ServerSettings(token_file=path)).status == "fail"
    path.write_text("secret-token\n")
    path.chmod(0o644)
    open_to_all = check_access(ServerSettings(token_file=path))
    assert (open_to_all.status, open_to_all.message.endswith(f"chmod 600 {path}")) == ("warn", True)
    path.chmod(0o600)
    private = check_access(ServerSettings(token_file=path))
    assert (private.status, "secret-token" in private.message) == ("ok", False)


@pytest.fixture
def unused_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
