"""A process with an engine, for tests on its end: prints one JSON line when ready and then waits."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

import psutil

from codeserve.engine.presets import resolve_model
from codeserve.engine.vllm_engine import VllmEngine


async def main() -> None:
    handlers = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    stalled = 0.0
    environment = dict(os.environ)
    preset, _ = resolve_model("mini-codellama")
    progress: list[str] = []
    engine = VllmEngine(preset, on_progress=lambda stage, seconds: progress.append(stage))

    async def tick() -> None:
        nonlocal stalled
        while True:
            before = asyncio.get_running_loop().time()
            await asyncio.sleep(0.01)
            stalled = max(stalled, asyncio.get_running_loop().time() - before - 0.01)

    ticking = asyncio.create_task(tick())
    await engine.start()
    ticking.cancel()
    news = {
        "pids": [child.pid for child in psutil.Process().children(recursive=True)],
        "signals kept": handlers == {name: signal.getsignal(name) for name in handlers},
        "environment kept": environment == dict(os.environ),
        "progress": progress,
        "stalled": stalled,
    }
    sys.stdout.write(json.dumps(news) + "\n")
    sys.stdout.flush()
    await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(main())
