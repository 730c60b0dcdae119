"""A server in a process of its own, around a scripted engine that never ends a completion."""

from __future__ import annotations

import asyncio
import sys

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.server.app import Server
from codeserve.server.logging import configure_logging
from codeserve.settings import ServerSettings
from tests.scripted_engine import ScriptedEngine, Stall
from tests.server.conftest import MODEL


async def main(drain_seconds: float) -> None:
    configure_logging("info", "json")  # one of its events says which port it is
    tokenizer = Tokenizer.load(MODEL)
    engine = ScriptedEngine(tokenizer)
    engine.play("a", Stall())
    builder = PromptBuilder(tokenizer, fim_format("codellama-spm", tokenizer))
    settings = ServerSettings(port=0, drain_seconds=drain_seconds)
    await Server(settings, engine, builder, tokenizer).run()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
