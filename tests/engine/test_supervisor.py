"""The supervisor, over engines that start, die and fail as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import attrs
import pytest

from codeserve.engine import supervisor
from codeserve.engine.base import EngineState
from codeserve.engine.supervisor import Backoff, Supervisor
from codeserve.errors import ConfigError, EngineStartError, EngineUnavailable

STARTING, READY, RESTARTING, _, FAILED, STOPPED = EngineState


@attrs.define(eq=False)
class Part:
    """One life: starts when told to, unless it is to fail, and dies of what it is told."""

    error: Exception | None = None
    loaded: asyncio.Event = attrs.field(factory=asyncio.Event)
    death: asyncio.Future[str] = attrs.field(factory=lambda: asyncio.get_running_loop().create_future())
    closed: int = 0

    async def start(self) -> None:
        await self.loaded.wait()
        if self.error is not None:
            raise self.error

    async def wait_dead(self) -> str:
        return await self.death

    async def close(self) -> None:
        self.closed += 1


@attrs.define(eq=False)
class World:
    """A supervisor with its parts, and a clock that only moves by its pauses and by `live`."""

    now: float = 1000.0
    states: list[EngineState] = attrs.field(factory=list)
    parts: list[Part] = attrs.field(factory=list)
    pauses: list[float] = attrs.field(factory=list)
    script: list[Exception | None] = attrs.field(factory=list)  # how each start ends; well, after the last
    held: bool = False  # starts wait until they are told to go on
    paused: asyncio.Event | None = None  # when set, pauses last until it is
    supervisor: Supervisor[Part] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.supervisor = Supervisor(
            self.make, self.states.append, backoff=Backoff(attempts=4), clock=lambda: self.now
        )

    def make(self) -> Part:
        number = len(self.parts)
        part = Part(self.script[number] if number < len(self.script) else None)
        if not self.held:
            part.loaded.set()
        self.parts.append(part)
        return part

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if self.paused is not None:
            await self.paused.wait()
        self.now += seconds

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await real_sleep(0)

    async def die(self, reason: str = "signal 9", *, after: float = 1.0) -> None:
        """The engine dies ``after`` some seconds of life."""
        self.now += after
        told = len(self.states)
        self.parts[-1].death.set_result(reason)
        await self.until(lambda: len(self.states) > told)

    async def ready(self, lives: int) -> None:
        await self.until(lambda: len(self.parts) == lives and self.supervisor.state is READY)


real_sleep = asyncio.sleep


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    world = World()

    class Asyncio:
        """asyncio as the supervisor sees it, with pauses that a test decides on."""

        def __getattr__(self, name: str) -> object:
            return getattr(asyncio, name)

        async def sleep(self, seconds: float) -> None:
            await world.sleep(seconds)

    monkeypatch.setattr(supervisor, "asyncio", Asyncio())
    yield world
    await world.supervisor.close()


def unavailable(world: World) -> tuple[str, int | None]:
    """What a request is answered now."""
    with pytest.raises(EngineUnavailable) as caught:
        world.supervisor.running()
    return str(caught.value), caught.value.retry_after_ms


def test_backoff_doubles_and_gives_up() -> None:
    """Pauses double up to the longest, and end after so many failures in a row."""
    backoff = Backoff(attempts=6, longest=10.0)
    assert [backoff.failed(0.0) for _ in range(8)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0, None, None]


def test_backoff_after_a_stable_life() -> None:
    """A death after a long life is the first failure again; one just below is not."""
    backoff = Backoff(attempts=3, stable=120.0)
    assert [backoff.failed(lived) for lived in (1, 119.9, 120, 1, 1, 1)] == [1.0, 2.0, 1.0, 2.0, 4.0, None]


async def test_start(world: World) -> None:
    """Once started, the engine is there and nothing was paused for."""
    await world.supervisor.start()
    assert world.supervisor.running() is world.parts[0]
    assert world.states == [READY]
    assert (world.supervisor.restarts, world.supervisor.failure, world.pauses) == (0, None, [])
    assert world.supervisor.retry_after_ms is None


async def test_started_once(world: World) -> None:
    """A second start is a mistake, before the end and after it."""
    await world.supervisor.start()
    with pytest.raises(RuntimeError, match="started once"):
        await world.supervisor.start()
    await world.supervisor.close()
    with pytest.raises(RuntimeError, match="started once"):
        await world.supervisor.start()
    assert len(world.parts) == 1


async def test_running_while_loading(world: World) -> None:
    """While the model loads requests are told when to ask again, never sooner than in a second."""
    world.held = True
    start = asyncio.create_task(world.supervisor.start())
    await world.until(lambda: bool(world.parts))
    assert unavailable(world) == ("the model is loading", 30_000)
    world.now += 10
    assert unavailable(world) == ("the model is loading", 20_000)
    world.now += 100
    assert unavailable(world) == ("the model is loading", 1000)
    world.parts[0].loaded.set()
    await start
    assert world.supervisor.running() is world.parts[0]


@pytest.mark.parametrize("error", [EngineStartError("no memory"), ConfigError("no engine")])
async def test_first_start_fails(world: World, error: Exception) -> None:
    """A first start that fails is final: it raises its reason, and nothing is tried again."""
    world.script = [error]
    with pytest.raises(type(error), match=str(error)):
        await world.supervisor.start()
    assert world.states == [FAILED]
    assert world.parts[0].closed
    assert unavailable(world) == (str(error), None)
    assert (len(world.parts), world.pauses) == (1, [])


async def test_first_start_fails_unforeseen(world: World) -> None:
    """An error that nobody foresaw fails the start as well, and leaves nothing behind."""
    world.script = [ValueError("a secret\nin lines")]
    with pytest.raises(EngineStartError, match="ValueError") as caught:
        await world.supervisor.start()
    assert str(caught.value).endswith("ValueError: a secret in lines")
    assert world.states == [FAILED]
    assert world.parts[0].closed
    await world.supervisor.close()
    assert world.states == [FAILED, STOPPED]


async def test_crash(world: World) -> None:
    """After a death a new engine is brought up, and the dead one is cleared away first."""
    await world.supervisor.start()
    await world.die()
    await world.ready(2)
    assert world.states == [READY, RESTARTING, READY]
    assert world.supervisor.running() is world.parts[1]
    assert (world.parts[0].closed, world.supervisor.restarts, world.supervisor.failure) == (1, 1, None)
    assert world.pauses == [1.0]


async def test_running_after_a_crash(world: World) -> None:
    """Until a new engine is up requests hear why, and a time made of the pause and the last start."""
    world.held = True
    start = asyncio.create_task(world.supervisor.start())
    await world.until(lambda: bool(world.parts))
    world.now += 7
    world.parts[0].loaded.set()
    await start
    world.paused = asyncio.Event()
    await world.die("signal 9")
    await world.until(lambda: bool(world.pauses))
    assert unavailable(world) == ("the engine died: signal 9", 8000)
    assert world.supervisor.retry_after_ms == 8000


async def test_pauses_double(world: World) -> None:
    """An engine that keeps dying is brought up after 1, 2, 4 and 8 seconds, and then no more."""
    await world.supervisor.start()
    for lives in range(2, 6):
        await world.die()
        await world.ready(lives)
    await world.die("signal 11")
    await world.until(lambda: world.supervisor.state is FAILED)
    assert world.pauses == [1.0, 2.0, 4.0, 8.0]
    assert world.supervisor.restarts == 4
    assert unavailable(world) == ("the engine died: signal 11", None)
    assert [part.closed for part in world.parts] == [1] * 5


async def test_long_life_starts_over(world: World) -> None:
    """After a long life the pauses begin with a second again."""
    await world.supervisor.start()
    for lives, after in ((2, 1.0), (3, 1.0), (4, 500.0), (5, 1.0)):
        await world.die(after=after)
        await world.ready(lives)
    assert world.pauses == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize("error", [EngineStartError("still no memory"), ValueError("unforeseen")])
async def test_failed_restarts(world: World, error: Exception) -> None:
    """Restarts that fail are tried again after longer pauses, and in the end the last reason stands."""
    world.script = [None, *[error] * 4]
    await world.supervisor.start()
    await world.die()
    await world.until(lambda: world.supervisor.state is FAILED)
    assert world.states == [READY, RESTARTING, FAILED]
    assert world.pauses == [1.0, 2.0, 4.0, 8.0]
    reason, retry = unavailable(world)
    assert str(error) in reason or type(error).__name__ in reason
    assert retry is None
    assert all(part.closed for part in world.parts)


async def test_engine_that_cannot_even_be_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails outside of a start ends in a state that is told, and not in a supervisor that is gone."""

    def make() -> Part:
        raise OSError("too many open files")

    monkeypatch.setattr(world.supervisor, "_make", make)
    async with asyncio.timeout(5):
        with pytest.raises(EngineStartError, match="too many open files"):
            await world.supervisor.start()
    assert world.states == [FAILED]


async def test_restart_that_cannot_be_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same after a death: nobody is told to ask again of an engine that will not come."""

    def make() -> Part:
        raise OSError("too many open files")

    await world.supervisor.start()
    monkeypatch.setattr(world.supervisor, "_make", make)
    await world.die()
    await world.until(lambda: world.supervisor.state is FAILED)
    assert unavailable(world)[1] is None


async def test_restart_after_a_failed_one(world: World) -> None:
    """A failed restart is no end; when the next one is well its reason is forgotten."""
    world.script = [None, EngineStartError("port in use")]
    await world.supervisor.start()
    await world.die()
    await world.ready(3)
    assert world.pauses == [1.0, 2.0]
    assert (world.supervisor.restarts, world.supervisor.failure) == (1, None)


async def test_close(world: World) -> None:
    """A closed engine is gone for good, and closing again does nothing."""
    await world.supervisor.start()
    await world.supervisor.close()
    await world.supervisor.close()
    assert world.parts[0].closed == 1
    assert world.states == [READY, STOPPED]
    assert unavailable(world) == ("the engine has been stopped", None)


async def test_close_before_the_start(world: World) -> None:
    """What never started can be closed, and then not started."""
    await world.supervisor.close()
    assert world.states == [STOPPED]
    with pytest.raises(RuntimeError):
        await world.supervisor.start()
    assert world.parts == []


async def test_close_during_the_start(world: World) -> None:
    """Closing while the model loads breaks the start off: nothing is left, and the starter is told."""
    world.held = True
    start = asyncio.create_task(world.supervisor.start())
    await world.until(lambda: bool(world.parts))
    await world.supervisor.close()
    with pytest.raises(EngineUnavailable, match="stopped while it started"):
        await start
    assert world.parts[0].closed == 1
    assert world.states == [STOPPED]


async def test_starter_leaves(world: World) -> None:
    """When nobody waits for the start any more it still goes on, until it is closed."""
    world.held = True
    start = asyncio.create_task(world.supervisor.start())
    await world.until(lambda: bool(world.parts))
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    world.parts[0].loaded.set()
    await world.ready(1)
    await world.supervisor.close()
    assert world.parts[0].closed == 1


async def test_close_during_a_pause(world: World) -> None:
    """Closing in the pause before a restart does not wait for it, and starts nothing more."""
    await world.supervisor.start()
    world.paused = asyncio.Event()
    await world.die()
    await world.until(lambda: bool(world.pauses))
    await world.supervisor.close()
    assert world.states == [READY, RESTARTING, STOPPED]
    assert [part.closed for part in world.parts] == [1]


async def test_close_during_a_restart(world: World) -> None:
    """Closing while a new engine is brought up leaves nothing of it."""
    await world.supervisor.start()
    world.held = True
    await world.die()
    await world.until(lambda: len(world.parts) == 2)
    await world.supervisor.close()
    assert [part.closed for part in world.parts] == [1, 1]
    assert world.states == [READY, RESTARTING, STOPPED]
