"""The real server with the real engine, for those who come to it as an editor does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.base import Engine
from codeserve.server.app import Server
from codeserve.settings import ServerSettings

__all__ = ["real_server"]

MODEL = Path(__file__).parents[2] / "models" / "mini-codellama"


@asynccontextmanager
async def real_server(engine: Engine) -> AsyncIterator[str]:
    """Serve the bundled model on a free port. Gives the URL."""
    tokenizer = Tokenizer.load(MODEL)
    builder = PromptBuilder(tokenizer, fim_format("codellama-spm", tokenizer))
    settings = ServerSettings(port=0, drain_seconds=0)
    server = Server(settings, engine, builder, tokenizer, owns_engine=False)
    await server.start()
    try:
        yield f"ws://127.0.0.1:{server.port}"
    finally:
        await server.close()
