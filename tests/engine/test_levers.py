"""What an operator may do to an engine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from codeserve.engine.base import EngineState, GenerationRequest
from codeserve.engine.levers import pull, with_profiles
from codeserve.engine.preset import Preset
from codeserve.engine.vllm_engine import VllmEngine
from codeserve.errors import EngineUnavailable, RequestError


class Llm:
    """As much of vLLM's AsyncLLM as is used; keeps what was called."""

    def __init__(
        self, error: Exception | None = None, *, in_use: bool = False, errored: bool = False
    ) -> None:
        self.calls: list[str] = []
        self.errored = errored
        self._error = error
        self._in_use = in_use

    async def _call(self, name: str) -> None:
        self.calls.append(name)
        if self._error is not None:
            raise self._error

    async def sleep(self, level: int) -> None:
        await self._call(f"sleep {level}")

    async def wake_up(self) -> None:
        await self._call("wake_up")

    async def reset_prefix_cache(self) -> bool:
        await self._call("reset_prefix_cache")
        return not self._in_use

    async def start_profile(self) -> None:
        await self._call("start_profile")

    async def stop_profile(self) -> None:
        await self._call("stop_profile")


def preset(**engine_args: Any) -> Preset:
    return Preset(name="x", model="x/y", fim="codellama-spm", engine_args=engine_args)


async def test_sleep_and_wake() -> None:
    """An engine that was set up to sleep does, with its weights kept, and wakes."""
    llm, one = Llm(), preset(enable_sleep_mode=True)
    assert "codeserve admin wake" in await pull(llm, one, "sleep", 0)
    assert await pull(llm, one, "wake", 0) == "awake"
    assert llm.calls == ["sleep 1", "wake_up"]


async def test_reset_cache() -> None:
    """The cache is emptied, or it is said that requests hold it."""
    assert "empty" in await pull(Llm(), preset(), "reset-cache", 0)
    with pytest.raises(RequestError, match="in use"):
        await pull(Llm(in_use=True), preset(), "reset-cache", 0)


async def test_profile(tmp_path: Path) -> None:
    """A profile begins and ends, and its folder is named."""
    llm = Llm()
    done = await pull(llm, preset(**with_profiles({}, str(tmp_path))), "profile", 0.01)
    assert str(tmp_path) in done
    assert llm.calls == ["start_profile", "stop_profile"]


@pytest.mark.parametrize(
    ("lever", "way"), [("sleep", "enable_sleep_mode = true"), ("profile", "set profile_dir")]
)
async def test_not_set_up(lever: str, way: str) -> None:
    """What the engine was not started for is refused, with what to set."""
    llm = Llm()
    with pytest.raises(RequestError, match=way):
        await pull(llm, preset(), lever, 0)
    assert llm.calls == []


async def test_engine_that_cannot() -> None:
    """The engine's own refusal comes out in one line."""
    with pytest.raises(RequestError, match="cannot do this: no such thing here") as caught:
        await pull(Llm(RuntimeError("no such\nthing here")), preset(), "wake", 0)
    assert "\n" not in str(caught.value)


async def test_failure_in_the_engines_process() -> None:
    """What failed over there, which vLLM passes on as a plain Exception, comes out in one line as well."""
    with pytest.raises(RequestError, match="Call to wake_up method failed: no"):
        await pull(Llm(Exception("Call to wake_up method failed: no")), preset(), "wake", 0)


async def test_engine_that_died() -> None:
    """The end of the engine is no refusal: its error goes on to who knows of restarts."""
    with pytest.raises(EOFError):
        await pull(Llm(EOFError("gone"), errored=True), preset(), "wake", 0)


class Process:
    """As much of an `EngineProcess` as a state depends on; its end lasts until it is told."""

    vllm = SimpleNamespace(dead=EOFError)

    def __init__(self) -> None:
        self.engine = Llm()
        self.gone = asyncio.Event()

    async def start(self) -> None:
        pass

    async def wait_dead(self) -> str:
        await asyncio.Event().wait()
        return ""

    async def close(self) -> None:
        await self.gone.wait()


@pytest.fixture
async def process(monkeypatch: pytest.MonkeyPatch) -> Process:
    process = Process()
    monkeypatch.setattr(VllmEngine, "_make", lambda _: process)
    return process


async def test_state(process: Process) -> None:
    """An engine is asleep from sleep to wake, and its state can be read until it has stopped."""
    engine = VllmEngine(preset(enable_sleep_mode=True))
    await engine.start()
    await engine.administer("sleep", 0)
    assert engine.state is EngineState.ASLEEP
    await engine.administer("wake", 0)
    assert engine.state is EngineState.READY
    closing = asyncio.create_task(engine.close())
    await asyncio.sleep(0.01)
    assert not closing.done()
    assert engine.state is EngineState.READY
    process.gone.set()
    await closing
    assert engine.state is EngineState.STOPPED


async def test_death_under_a_lever(process: Process) -> None:
    """When the engine dies of it, or meanwhile, the operator hears that it is not there."""
    engine = VllmEngine(preset())
    await engine.start()
    process.engine = Llm(EOFError("gone"), errored=True)
    with pytest.raises(EngineUnavailable, match="died"):
        await engine.administer("wake", 0)
    process.gone.set()
    await engine.close()


def test_presets_own_profiler_wins() -> None:
    """A preset that sets up a profiler of its own keeps it."""
    own = {"profiler_config": {"profiler": "cuda"}, "seed": 1}
    assert with_profiles(own, "/somewhere") == own


@pytest.mark.engine
async def test_real_cache_is_emptied(engine: VllmEngine) -> None:
    """After a reset nothing of a prompt is cached that was cached before."""

    async def cached() -> int:
        request = GenerationRequest(f"levers {len(seen)}", [1, *range(3000, 3200)], max_tokens=2)
        seen.append([chunk async for chunk in engine.generate(request)][-1].cached_tokens)
        return seen[-1]

    seen: list[int] = []
    await cached()
    assert await cached() > 100
    await engine.administer("reset-cache", 0)
    assert await cached() == 0
    with pytest.raises(RequestError, match="sleep needs a GPU"):
        await engine.administer("sleep", 0)
