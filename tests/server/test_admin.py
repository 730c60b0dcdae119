"""What an operator asks of a running server."""

from __future__ import annotations

import io

import pytest

from codeserve.commands.admin import _ask
from codeserve.engine.base import EngineState
from codeserve.errors import CodeserveError
from codeserve.server.app import Server
from tests.scripted_engine import ScriptedEngine
from tests.server.conftest import StartServer
from tests.server.peer import peer


@pytest.fixture
async def server(start_server: StartServer) -> Server:
    return await start_server(token="ops secret admin")


async def test_sleep_and_wake(server: Server) -> None:
    """While the engine sleeps requests are refused, with the way to wake it; then they are answered again."""
    async with peer(server, greet=False) as one:
        await one.hello(token="secret")
        await one.send("admin", action="sleep", id="a")
        done = await one.next()
        assert (done["type"], done["id"], done["message"]) == ("report", "a", "sleep done")
        refused = await one.ask("1")
        assert refused.code == "unavailable"
        assert "asleep: an operator can wake it" in refused.last["message"]
        await one.send("admin", action="wake", id="b")
        answers = [await one.next()]
        while answers[-1]["type"] == "status":  # of what changed
            answers.append(await one.next())
        assert answers[-1]["message"] == "wake done"
        assert (await one.ask("2")).finish == "stop"


async def test_refusals(server: Server, scripted: ScriptedEngine, logs: io.StringIO) -> None:
    """What the engine cannot do is told with the request's id, a bug by its kind alone."""
    async with peer(server, greet=False) as one:
        await one.hello(token="secret")
        await one.send("admin", action="profile", id="a")
        refused = await one.next()
        assert (refused["type"], refused["id"], refused["code"]) == ("error", "a", "invalid")
        await one.send("admin", action="reset-cache", id="b")
        assert (await one.next())["code"] == "internal"
        assert "planted" not in logs.getvalue()
        await one.send("admin", action="melt", id="c")
        assert "there is: status, sleep, wake, reset-cache, profile" in (await one.next())["message"]
        await one.send("admin", action="profile", id="d", seconds=1e9)
        assert (await one.next())["code"] == "invalid"
        scripted.state = EngineState.RESTARTING
        await one.send("admin", action="wake", id="e")
        answers = [await one.next(), await one.next()]
        assert "unavailable" in [answer.get("code") for answer in answers]


async def test_needs_the_scope(start_server: StartServer) -> None:
    """A token for completions alone does not do."""
    server = await start_server(token="secret")
    async with peer(server, greet=False) as one:
        await one.hello(token="secret")
        await one.send("admin", action="sleep", id="a")
        assert (await one.next())["code"] == "forbidden"


async def test_command(server: Server) -> None:
    """The command says what was done, or why not."""
    url = f"ws://127.0.0.1:{server.port}"
    assert await _ask(url, "status", 0, "secret", None) == "ready, load 0%"
    assert await _ask(url, "sleep", 0, "secret", None) == "sleep done"
    assert await _ask(url, "status", 0, "secret", None) == "asleep, load 0%"
    assert await _ask(url, "wake", 0, "secret", None) == "wake done"
    with pytest.raises(CodeserveError, match="profile: a profile needs a folder"):
        await _ask(url, "profile", 0, "secret", None)
