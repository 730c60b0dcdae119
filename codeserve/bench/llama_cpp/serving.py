"""An engine, a server on it and a client of that, so that the same engine is asked with and without them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import attrs

from codeserve.client import Client
from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.base import Engine
from codeserve.engine.preset import Preset
from codeserve.engine.prompts import prompt_builder
from codeserve.server.app import Server
from codeserve.server.logging import configure_logging
from codeserve.settings import ServerSettings

__all__ = ["Serving", "serving"]


@attrs.frozen
class Serving:
    """What runs: every answer has as many tokens as it may have."""

    engine: Engine
    client: Client
    builder: PromptBuilder

    async def forget(self) -> None:
        """Empty the prefix cache. Raises: RequestError while a request runs."""
        await self.engine.administer("reset-cache", 0)


@contextlib.asynccontextmanager
async def serving(preset: Preset, engine: Engine) -> AsyncIterator[Serving]:
    """Start all three for the preset of ``engine``, on a free port of this machine, and stop them.

    The server has its default settings.

    Raises: ConfigError, EngineStartError.
    """
    configure_logging("error", "console", sys.stderr)
    tokenizer = Tokenizer.load(Path(preset.model))
    builder = prompt_builder(preset, tokenizer, endless=True)
    settings = ServerSettings(host="127.0.0.1", port=0)
    server = Server(
        settings, engine, builder, tokenizer, min_confidence=preset.min_confidence, owns_engine=False
    )
    try:
        await engine.start()
        await server.start()
        async with Client(f"ws://127.0.0.1:{server.port}") as client:
            await client.wait_ready()
            yield Serving(engine, client, builder)
    finally:
        await server.close()
        await engine.close()
