"""All of codeserve, for the tests of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.conformance.pipeline import Pipeline, pipeline


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def codeserve() -> AsyncIterator[Pipeline]:
    async with pipeline() as one:
        yield one
