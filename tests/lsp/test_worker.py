"""The thread beside the event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from codeserve_lsp.worker import Worker


async def test_results_and_failures() -> None:
    """What the work gives or raises comes back, one piece after the other, in one thread."""
    worker = Worker()
    names = await asyncio.gather(*(worker.run(lambda: threading.current_thread().name) for _ in range(3)))
    assert set(names) == {"codeserve-files"}

    def fail() -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await worker.run(fail)
    assert await worker.run(lambda: 1) == 1


async def test_nobody_waits_any_more() -> None:
    """Work whose waiter was cancelled is done and forgotten; the next one is done as well."""
    worker = Worker()
    go = threading.Event()
    for outcome in (lambda: go.wait(5), lambda: 1 // int(not go.wait(5))):
        go.clear()
        waiter = asyncio.create_task(worker.run(outcome))
        await asyncio.sleep(0.01)
        waiter.cancel()
        go.set()
        assert await worker.run(lambda: 2) == 2


def test_the_loop_is_gone() -> None:
    """Work that ends behind the event loop ends the thread without a word."""
    worker = Worker()
    go = threading.Event()

    async def start() -> None:
        task = asyncio.create_task(worker.run(lambda: go.wait(5)))
        await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(start())
    go.set()
    assert worker._thread is not None
    assert worker._thread.daemon
    worker._thread.join(10)
    assert not worker._thread.is_alive()
