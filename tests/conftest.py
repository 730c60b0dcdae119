"""One real engine for the whole test run: it takes half a minute to start."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from codeserve.engine.presets import load_presets
from codeserve.engine.vllm_engine import VllmEngine


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine() -> AsyncIterator[VllmEngine]:
    """vLLM on the CPU with the bundled model, ready."""
    engine = VllmEngine(load_presets()["mini-codellama"])
    await engine.start()
    yield engine
    await engine.close()
