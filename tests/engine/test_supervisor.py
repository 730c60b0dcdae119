"""Keeping an engine running, on scripted engines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import attrs
import pytest

from codeserve.engine.base import EngineState
from codeserve.engine.supervisor import Backoff, Supervisor
from codeserve.errors import EngineStartError, EngineUnavailable


@attrs.define
class Part:
    """An engine that starts when told to and dies when told to."""

    start_error: Exception | None = None
    ready: asyncio.Event = attrs.field(factory=asyncio.Event)
    death: asyncio.Future[str] = attrs.field(factory=lambda: asyncio.get_running_loop().create_future())
    closed: int = 0

    async def start(self) -> None:
        await self.ready.wait()
        if self.start_error is not None:
            raise self.start_error

    async def wait_dead(self) -> str:
        return await self.death

    async def close(self) -> None:
        self.closed += 1


class Scene:
    """A supervisor, the engines that it made and the states that it told of; pauses cost no time."""

    def __init__(self, attempts: int = 3) -> None:
        self.parts: list[Part] = []
        self.states: list[EngineState] = []
        self.change = asyncio.Event()
        self.now = 0.0
        self.plan: Callable[[Part], None] = lambda part: part.ready.set()
        self.supervisor = Supervisor(
            self._make,
            self._told,
            backoff=Backoff(attempts=attempts, longest=0.02),
            clock=lambda: self.now,
        )

    def _told(self, state: EngineState) -> None:
        self.states.append(state)
        self.change.set()

    def _make(self) -> Part:
        part = Part()
        self.parts.append(part)
        self.change.set()
        self.plan(part)
        return part

    async def until(self, state: EngineState) -> None:
        while self.supervisor.state is not state:
            self.change.clear()
            await asyncio.wait_for(self.change.wait(), 5)

    async def made(self, count: int) -> None:
        while len(self.parts) < count:
            self.change.clear()
            await asyncio.wait_for(self.change.wait(), 5)


def test_backoff_doubles_and_gives_up() -> None:
    """Pauses double up to the longest; after the last attempt there is none."""
    backoff = Backoff(attempts=8, longest=60)
    assert [backoff.failed(0) for _ in range(9)] == [1, 2, 4, 8, 16, 32, 60, 60, None]


def test_backoff_forgets() -> None:
    """A failure after a long life is a first one again."""
    backoff = Backoff(attempts=2, stable=100)
    assert [backoff.failed(lived) for lived in (0, 0, 100, 99, 99)] == [1, 2, 1, 2, None]


async def test_start_and_close() -> None:
    """Starting waits until it is ready; closing ends it; both are told."""
    scene = Scene()
    await scene.supervisor.start()
    assert scene.supervisor.running() is scene.parts[0]
    await scene.supervisor.close()
    await scene.supervisor.close()
    assert scene.states == [EngineState.READY, EngineState.STOPPED]
    assert scene.parts[0].closed
    with pytest.raises(EngineUnavailable, match="stopped") as caught:
        scene.supervisor.running()
    assert caught.value.retry_after_ms is None


@pytest.mark.parametrize("begun", [False, True])
async def test_while_it_loads(begun: bool) -> None:
    """While it loads there is no engine, and when to ask again is told; it can be closed at any point."""
    scene = Scene()
    scene.plan = lambda part: None
    starting = asyncio.create_task(scene.supervisor.start())
    await (scene.made(1) if begun else asyncio.sleep(0))
    with pytest.raises(EngineUnavailable, match="loading") as caught:
        scene.supervisor.running()
    assert caught.value.retry_after_ms is not None
    assert caught.value.retry_after_ms >= 1000
    await scene.supervisor.close()
    with pytest.raises(EngineUnavailable, match="stopped while it started"):
        await starting
    assert [part.closed > 0 for part in scene.parts] == [True] * begun


async def test_first_start_fails() -> None:
    """A first start that fails is final, with its reason, and leaves nothing open."""
    scene = Scene()

    def plan(part: Part) -> None:
        part.start_error = EngineStartError("no weights")
        part.ready.set()

    scene.plan = plan
    with pytest.raises(EngineStartError, match="no weights"):
        await scene.supervisor.start()
    assert scene.supervisor.state is EngineState.FAILED
    assert scene.supervisor.failure == "no weights"
    assert len(scene.parts) == 1
    assert scene.parts[0].closed
    with pytest.raises(EngineUnavailable, match="no weights"):
        scene.supervisor.running()
    await scene.supervisor.close()


async def test_unforeseen_error() -> None:
    """An error that nobody foresaw ends the start too, in one line."""
    scene = Scene()

    def plan(part: Part) -> None:
        part.start_error = AttributeError("no such\nthing")
        part.ready.set()

    scene.plan = plan
    with pytest.raises(EngineStartError, match="AttributeError: no such thing"):
        await scene.supervisor.start()
    assert scene.supervisor.state is EngineState.FAILED
    await scene.supervisor.close()


async def test_crash_and_restart() -> None:
    """A dead engine is replaced; meanwhile requests are told why and when to ask again."""
    scene = Scene()
    await scene.supervisor.start()
    scene.now = 10
    scene.plan = lambda part: None
    scene.parts[0].death.set_result("killed")
    await scene.until(EngineState.RESTARTING)
    assert scene.supervisor.failure == "the engine died: killed"
    with pytest.raises(EngineUnavailable, match="killed") as caught:
        scene.supervisor.running()
    assert caught.value.retry_after_ms
    await scene.made(2)
    assert scene.parts[0].closed
    scene.parts[1].ready.set()
    await scene.until(EngineState.READY)
    assert scene.supervisor.running() is scene.parts[1]
    assert (scene.supervisor.restarts, scene.supervisor.failure) == (1, None)
    await scene.supervisor.close()


async def test_gives_up() -> None:
    """An engine that keeps failing is given up, with the last reason."""
    scene = Scene(attempts=2)
    await scene.supervisor.start()

    def plan(part: Part) -> None:
        part.start_error = EngineStartError("the disk is full")
        part.ready.set()

    scene.plan = plan
    scene.parts[0].death.set_result("killed")
    await scene.until(EngineState.FAILED)
    assert scene.supervisor.failure == "the disk is full"
    assert len(scene.parts) == 3
    assert all(part.closed for part in scene.parts)
    assert scene.states == [EngineState.READY, EngineState.RESTARTING, EngineState.FAILED]
    await scene.supervisor.close()


async def test_closed_during_a_restart() -> None:
    """Closing in the middle of a restart ends that one too."""
    scene = Scene()
    await scene.supervisor.start()
    scene.plan = lambda part: None
    scene.parts[0].death.set_result("killed")
    await scene.made(2)
    await scene.supervisor.close()
    assert scene.parts[1].closed
    assert scene.supervisor.state is EngineState.STOPPED


async def test_started_once() -> None:
    """An engine is started once."""
    scene = Scene()
    await scene.supervisor.start()
    with pytest.raises(RuntimeError):
        await scene.supervisor.start()
    await scene.supervisor.close()
