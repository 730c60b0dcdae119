"""What tests of several parts share: the real engine with the bundled model, started once a run."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from codeserve.engine.presets import resolve_model
from codeserve.engine.vllm_engine import VllmEngine


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine() -> AsyncIterator[VllmEngine]:
    """A ready engine. Tests leave it running."""
    preset, _ = resolve_model("mini-codellama")
    one = VllmEngine(preset)
    await one.start()
    yield one
    await one.close()
