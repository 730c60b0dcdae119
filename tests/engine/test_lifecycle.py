"""Start, crash, restart and end of the real engine; each test has engines of its own."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import psutil
import pytest

from codeserve.engine.base import EngineState, GenerationRequest
from codeserve.engine.output import STAGES
from codeserve.engine.presets import Speculation, resolve_model
from codeserve.engine.vllm_engine import VllmEngine
from codeserve.errors import ConfigError, EngineStartError, EngineUnavailable
from tests.engine.models import MINI, repetitive_code

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]


def children() -> set[psutil.Process]:
    """Processes that this one has started, without Python's own helper for spawned ones."""
    found = psutil.Process().children(recursive=True)
    return {child for child in found if "resource_tracker" not in " ".join(child.cmdline())}


async def until(true: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it took too long"
        await asyncio.sleep(0.05)


def request(id: str, max_tokens: int = 8) -> GenerationRequest:
    return GenerationRequest(id=id, prompt_token_ids=[1, *range(2000, 2100)], max_tokens=max_tokens)


async def test_crash_and_restart() -> None:
    """A killed engine is noticed, its requests end, another one takes over, and closing leaves nothing."""
    before = children()
    states: list[EngineState] = []
    engine = VllmEngine(resolve_model("mini-codellama")[0], on_state=states.append)
    await engine.start()
    (victim,) = (child for child in children() - before if child.memory_info().rss > 500 << 20)
    stream = engine.generate(request("running", 3000))
    await anext(stream)
    victim.kill()
    with pytest.raises(EngineUnavailable) as caught:
        async for _ in stream:
            pass
    assert caught.value.retry_after_ms
    await until(lambda: engine.state is EngineState.RESTARTING, 5)
    assert "the engine died: it was killed" in (engine.failure or "")
    with pytest.raises(EngineUnavailable) as caught:
        await anext(engine.generate(request("early")))
    assert caught.value.retry_after_ms

    await until(lambda: engine.state is EngineState.READY)
    assert (engine.restarts, engine.failure) == (1, None)
    chunks = [chunk async for chunk in engine.generate(request("after"))]
    assert sum(len(chunk.token_ids) for chunk in chunks) == 8

    await engine.close()
    assert children() == before
    assert states == [EngineState.READY, EngineState.RESTARTING, EngineState.READY, EngineState.STOPPED]
    with pytest.raises(EngineUnavailable, match="stopped"):
        await anext(engine.generate(request("late")))


async def test_speculation(engine: VllmEngine) -> None:
    """N-gram speculation gives the same tokens in fewer steps, and tells what was drafted and accepted."""
    preset = attrs.evolve(resolve_model("mini-codellama")[0], speculation=Speculation(method="ngram"))
    one = GenerationRequest(id="repeats", prompt_token_ids=repetitive_code("option"), max_tokens=40)
    plain = [id async for chunk in engine.generate(one) for id in chunk.token_ids]
    speculating = VllmEngine(preset)
    await speculating.start()
    try:
        assert speculating.info.speculation == "ngram"
        chunks = [chunk async for chunk in speculating.generate(one)]
    finally:
        await speculating.close()
    assert [id for chunk in chunks for id in chunk.token_ids] == plain
    assert len(chunks) < 30
    running = [(chunk.accepted_tokens, chunk.drafted_tokens) for chunk in chunks]
    assert running == sorted(running)
    assert 10 < running[-1][0] <= running[-1][1]


async def test_speculation_that_does_not_pay() -> None:
    """Drafting pauses in the running engine once too little of it is accepted; the text goes on the same."""
    speculation = Speculation(method="ngram", min_accepted=4.5)  # of four drafted: never
    engine = VllmEngine(attrs.evolve(resolve_model("mini-codellama")[0], speculation=speculation))
    await engine.start()
    drafted, texts = [], []
    try:
        # A pause is 500 steps: what is left of the first request takes 250 at most, the second one 150.
        for name, tokens in (("first", 300), ("second", 150)):
            one = GenerationRequest(name, repetitive_code("option"), max_tokens=tokens)
            chunks = [chunk async for chunk in engine.generate(one)]
            drafted.append(chunks[-1].drafted_tokens)
            texts.append([id for chunk in chunks for id in chunk.token_ids])
    finally:
        await engine.close()
    assert drafted[0] > 40
    assert drafted[1] == 0
    assert texts[0][:40] == texts[1][:40]


@pytest.mark.parametrize("stage", ["importing vLLM", "loading weights"])
async def test_closed_while_it_starts(stage: str) -> None:
    """Closing in the middle of a start breaks it off and leaves nothing behind."""
    before = children()
    seen: list[str] = []
    engine = VllmEngine(
        resolve_model("mini-codellama")[0], on_progress=lambda name, seconds: seen.append(name)
    )
    starting = asyncio.create_task(engine.start())
    await until(lambda: stage in seen)
    began = time.monotonic()
    await engine.close()
    assert time.monotonic() - began < 15
    with pytest.raises(EngineUnavailable, match="stopped while it started"):
        await starting
    assert engine.state is EngineState.STOPPED
    assert children() == before


def spoiled(folder: Path, **config: Any) -> Path:
    """A copy of the bundled model whose config.json says something else."""
    shutil.copytree(MINI, folder)
    values = json.loads((folder / "config.json").read_text()) | config
    (folder / "config.json").write_text(json.dumps(values))
    return folder


async def test_model_that_cannot_be_served(tmp_path: Path) -> None:
    """A model that only the engine can tell to be unfit ends the start in one line, and nothing runs on."""
    before = children()
    preset, _ = resolve_model(str(spoiled(tmp_path / "spoiled", architectures=["FooForCausalLM"])))
    engine = VllmEngine(preset)
    with pytest.raises(
        EngineStartError, match="does not support the architecture 'FooForCausalLM'"
    ) as caught:
        await engine.start()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert engine.state is EngineState.FAILED
    assert engine.failure == str(caught.value)
    assert children() == before
    await engine.close()


def cut_short(folder: Path) -> None:
    path = folder / "model-00002-of-00002.safetensors"
    path.write_bytes(path.read_bytes()[:1000])


def of_another_model(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"intermediate_size": 1024}))


@pytest.mark.parametrize(
    ("spoil", "says"), [(cut_short, "not a whole safetensors file"), (of_another_model, "intermediate_size")]
)
async def test_unfit_weights_are_told_before_loading(
    tmp_path: Path, spoil: Callable[[Path], None], says: str
) -> None:
    """Weights that are cut short, or that vLLM would serve noise from, are refused at once."""
    folder = spoiled(tmp_path / "spoiled")
    preset, _ = resolve_model(str(folder))
    spoil(folder)
    engine = VllmEngine(preset)
    before = children()
    with pytest.raises(ConfigError, match=says) as caught:
        await engine.start()
    assert "copy or download it again" in str(caught.value)
    assert children() == before  # no engine was started for it
    await engine.close()


async def test_killed_server_takes_its_engine_along() -> None:
    """A server that is killed leaves no engine behind; while it lived the engine kept to itself."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.engine.server_process",
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    news = json.loads(await asyncio.wait_for(process.stdout.readline(), 120))
    engines = [psutil.Process(pid) for pid in news["pids"]]
    assert engines
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await until(lambda: not any(one.is_running() and one.status() != "zombie" for one in engines), 10)

    assert news["signals kept"]
    assert news["environment kept"]
    assert news["progress"] == list(STAGES)
    assert news["stalled"] < 2  # seconds in which the event loop answered nobody
    assert await process.stdout.read() == b""
    # Python's own helper tells of a semaphore that the killed server could not give back.
    lines = (await process.stderr.read()).decode().splitlines()
    assert [line for line in lines if "resource_tracker" not in line] == []
