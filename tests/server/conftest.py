"""A server around a scripted engine, on a free port."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.server.app import Server
from codeserve.server.logging import configure_logging
from codeserve.settings import ServerSettings
from tests.scripted_engine import ScriptedEngine

MODEL = Path(__file__).parents[2] / "models" / "mini-codellama"

StartServer = Callable[..., Awaitable[Server]]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.load(MODEL)


@pytest.fixture(scope="session")
def builder(tokenizer: Tokenizer) -> PromptBuilder:
    return PromptBuilder(tokenizer, fim_format("codellama-spm", tokenizer))


@pytest.fixture
def scripted(tokenizer: Tokenizer) -> ScriptedEngine:
    return ScriptedEngine(tokenizer)


@pytest.fixture(autouse=True)
def logs() -> Iterator[io.StringIO]:
    """Everything that is logged during the test, at debug level, as JSON."""
    stream = io.StringIO()
    configure_logging("debug", "json", stream)
    yield stream
    structlog.reset_defaults()


@pytest.fixture
async def start_server(
    scripted: ScriptedEngine, builder: PromptBuilder, tokenizer: Tokenizer
) -> AsyncIterator[StartServer]:
    """Starts servers with the settings given; closes them after the test."""
    servers: list[Server] = []

    async def start(*, min_confidence: float | None = None, **settings: Any) -> Server:
        values = ServerSettings(**({"port": 0, "drain_seconds": 0} | settings))
        server = Server(values, scripted, builder, tokenizer, min_confidence=min_confidence)
        await server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        await server.close()


@pytest.fixture
async def server(start_server: StartServer) -> Server:
    return await start_server()
