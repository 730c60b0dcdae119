from __future__ import annotations

from tests.scripted_engine import Pause, ScriptedEngine, Stall
from tests.server.conftest import StartServer
from tests.server.peer import peer, started, until


async def test_over_all_clients(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """Over the limit a request is refused at once, with when to ask again; room that is freed is given."""
    server = await start_server(max_pending=3)
    scripted.play(Stall())
    async with peer(server) as one, peer(server) as two:
        await started(one, scripted, "1")
        await started(one, scripted, "2")
        await started(two, scripted, "3")
        refused = await two.ask("4")
        assert refused.code == "overloaded"
        assert 50 <= refused.last["retry_after_ms"] <= 2000
        await one.send("cancel", id="1")
        await one.answer("1")
        scripted.play("x\n")
        assert (await two.ask("5")).finish == "stop"


async def test_of_one_connection(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """One client cannot take all the room there is."""
    server = await start_server(max_pending=10, max_pending_per_connection=2)
    scripted.play(Stall())
    async with peer(server) as greedy, peer(server) as other:
        await started(greedy, scripted, "1")
        await started(greedy, scripted, "2")
        assert (await greedy.ask("3")).code == "overloaded"
        scripted.play("x\n")
        assert (await other.ask("1")).finish == "stop"


async def test_supersede_frees(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """A newer request takes the room of the one that it supersedes."""
    server = await start_server(max_pending=1)
    scripted.play_next(Stall())
    async with peer(server) as one:
        await started(one, scripted, "1", document="a.py")
        await one.complete("2", document="a.py")
        assert (await one.answer("1")).finish == "superseded"
        assert (await one.answer("2")).finish == "stop"


async def test_candidates_count(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """Each candidate takes room of its own."""
    server = await start_server(max_pending=3)
    async with peer(server) as one:
        assert (await one.ask("1", candidates=4)).code == "overloaded"
        assert (await one.ask("2", candidates=3)).finish == "stop"


async def test_load(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """A status tells the share of the room in use, which is given back in the end."""
    server = await start_server(max_pending=4, token="ops secret admin")
    scripted.play(Pause(0.3), "x\n")
    async with peer(server, greet=False) as one:
        await one.hello(token="secret")
        await started(one, scripted, "1")
        await one.send("admin", action="status")
        assert (await one.next())["load"] == 0.25
        await one.answer("1")
        await one.send("admin", action="status")
        assert (await one.next())["load"] == 0.0


async def test_room_after_disconnect(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """A client that goes away gives back all its room."""
    server = await start_server(max_pending=2)
    scripted.play(Stall())
    async with peer(server) as one:
        await started(one, scripted, "1", candidates=2)
    await until(lambda: not scripted.live)
    scripted.play("x\n")
    async with peer(server) as two:
        assert (await two.ask("1", candidates=2)).finish == "stop"
