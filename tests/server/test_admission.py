"""What is refused at once, and why: by the rules alone, and on a server."""

from __future__ import annotations

import random

import attrs
import pytest

from codeserve.errors import RequestError
from codeserve.server.admission import Admission, Share
from codeserve.server.pace import Service
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


@attrs.define
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def admission(limit: int = 100, per_connection: int = 16, *, line_ms: float = 0.0) -> Admission:
    """With ``line_ms``, one that has learnt that n sequences take n times as long for a line."""
    one = Admission(limit, per_connection, clock=Clock())
    if line_ms:
        for live in (1, 10) * 10:
            one.observe(Service(live, live * line_ms, ttft_ms=live * line_ms, tpot_ms=1e-9))
    return one


def refused(share: Share, count: int = 1, deadline_ms: float = 300.0) -> RequestError | None:
    try:
        share.take(count, deadline_ms)
    except RequestError as exc:
        return exc
    return None


def test_what_would_be_late_is_refused() -> None:
    """Requests are taken on until a line would not be there by the deadline; then it says when to ask."""
    one = admission(line_ms=95)
    assert [refused(one.share()) is None for _ in range(5)] == [True, True, True, False, False]
    late = refused(one.share())
    assert late is not None
    assert "too busy to answer within 300 ms" in str(late)
    assert late.retry_after_ms == pytest.approx(80, abs=15)
    assert refused(one.share(), deadline_ms=1000) is None


def test_an_idle_server_always_tries() -> None:
    """However slow the engine was, one request at a time shows whether it still is."""
    one = admission(line_ms=5000)
    share = one.share()
    assert refused(share) is None
    assert refused(one.share()) is not None
    share.give_back(1)
    assert refused(one.share()) is None


def test_prewarms_are_no_company() -> None:
    """Beside nothing but prewarms a completion is always tried: who warms a file is not told to wait."""
    one = admission(line_ms=5000)
    share = one.share()
    share.take(1, 300, prewarm=True)
    with pytest.raises(RequestError):
        share.take(1, 300, prewarm=True)
    assert refused(share) is None
    assert refused(one.share()) is not None
    share.give_back(1, prewarm=True)
    assert refused(one.share()) is not None
    share.give_back(1)
    assert refused(one.share()) is None


def test_two_documents_of_ones_own() -> None:
    """Beside one completion of its own and nothing else a client's next one is always tried, but no third."""
    one = admission(line_ms=5000)
    share = one.share()
    assert refused(share, 2) is None
    assert refused(share) is None
    assert refused(share) is not None
    share.give_back(2)
    assert refused(share) is None
    share.give_back(1)
    share.give_back(1)
    assert refused(one.share()) is None
    assert refused(share) is not None  # beside somebody else's


def test_nobody_is_refused_for_ever() -> None:
    """Who would be late for a second is taken on all the same, now and then one of them."""
    clock = Clock()
    one = Admission(100, 16, clock=clock)
    for live in (1, 10) * 10:
        one.observe(Service(live, live * 95, ttft_ms=live * 95, tpot_ms=1e-9))
    while refused(one.share()) is None:
        pass
    first, second = one.share(), one.share()
    for _ in range(5):  # the others' places are taken again at once
        assert refused(first) is not None
        assert refused(second) is not None
        clock.now += 0.19
    clock.now += 0.1
    assert refused(first) is None
    first.give_back(1)
    assert refused(first) is not None  # its turn was one request
    assert refused(second) is not None
    clock.now += 2.1
    assert refused(second) is None


def test_deadline_that_has_passed() -> None:
    """A request that was read too late is refused without a time below nothing."""
    one = admission(line_ms=5000)
    assert refused(one.share()) is None
    assert "within 0 ms" in str(refused(one.share(), deadline_ms=-3.0))


def test_nothing_known_nothing_refused() -> None:
    """A server that has just started takes on what its limit allows."""
    one = admission(limit=20)
    assert sum(refused(one.share()) is None for _ in range(30)) == 20


def test_prewarms_have_no_deadline() -> None:
    """What has no deadline cannot miss it."""
    one = admission(line_ms=1000)
    assert refused(one.share()) is None
    one.share().take(1)
    assert one.live == 2


def test_a_client_cannot_starve_others() -> None:
    """One that asks for all there is keeps it while it is alone, and half of it once another one asks."""
    one = admission(line_ms=28)  # ten sequences are in time
    greedy, other = one.share(), one.share()
    while refused(greedy) is None:
        pass
    assert one.live == 10
    assert refused(other) is not None
    for _ in range(20):  # the greedy one asks first each time room is made
        greedy.give_back(1)
        refused(greedy)
        refused(other)
    assert (greedy.live, other.live) == (5, 5)


def test_who_asks_no_longer_leaves_its_share() -> None:
    """The share of a client that has stopped asking, or is gone, goes to the others."""
    clock = Clock()
    one = Admission(100, 16, clock=clock)
    first, second, third = one.share(), one.share(), one.share()
    assert [one.asks(share) for share in (first, second, third)] == [1, 2, 3]
    second.close()
    assert one.asks(third) == 2
    clock.now += 5
    assert one.asks(third) == 1


@attrs.define(eq=False)
class Asker:
    """A client of `simulate`: asks, waits for the answer or the deadline, pauses, asks again."""

    share: Share
    at: float  # when it asks next, or asked
    live: int | None = None  # sequences in the engine when it asked; None while it has not


def simulate(lines_in_time: int, seconds: float) -> tuple[list[float], int, int]:
    """Fifty clients on an engine that takes turns. Returns lines' times, deadlines missed, and refusals."""
    line_ms = 280 / lines_in_time
    one = Admission(128, 16, clock=Clock())
    rng = random.Random(0)
    askers = [Asker(one.share(), rng.random() * 300) for _ in range(50)]
    lines: list[float] = []
    missed = told = 0

    def over(asker: Asker, now: float, line: float | None) -> None:
        assert asker.live is not None
        live = (asker.live + 1 + one.live) / 2
        one.observe(Service(live, now - asker.at, ttft_ms=line, tpot_ms=1e-9))
        asker.share.give_back(1)
        asker.live, asker.at = None, now + rng.expovariate(1 / 300)

    now = 0.0
    while (now := now + line_ms) < seconds * 1000:
        for asker in sorted(askers, key=lambda asker: asker.at):
            if asker.live is not None and now - asker.at > 300:
                missed += now > 10_000
                over(asker, now, None)
            elif asker.live is None and asker.at <= now:
                asker.at = now
                error = refused(asker.share)
                if error is None:
                    asker.live = one.live
                else:
                    told += 1
                    asker.at += (error.retry_after_ms or 0) + rng.random() * 100
        waiting = [asker for asker in askers if asker.live is not None]
        if waiting:
            first = min(waiting, key=lambda asker: asker.at)
            line = now + line_ms - first.at
            lines.append(line)
            over(first, now, line)
    return lines, missed, told


@pytest.mark.parametrize("lines_in_time", [5, 8, 20])
def test_overload_is_told_at_once(lines_in_time: int) -> None:
    """With far more clients than can be answered, who is taken on is answered in time, and work goes on."""
    lines, missed, told = simulate(lines_in_time, 60)
    possible = 60 / 0.28 * lines_in_time
    assert told > 50
    assert missed < 0.1 * len(lines)
    assert len(lines) > 0.8 * possible
