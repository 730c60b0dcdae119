"""An engine and a server on it in this process, so that the model alone can be asked beside the server."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import attrs

from codeserve.bench.quality.ask import RawModel
from codeserve.protocol import Mode
from codeserve.settings import ServerSettings, load_settings

__all__ = ["Hosted", "hosted"]


@attrs.frozen
class Hosted:
    """A running server, and the model behind it by the prompt format it is asked in."""

    url: str
    raw: dict[str, RawModel]


def _settings(model: str, config: Path | None) -> ServerSettings:
    """Without a settings file the defaults, whatever the environment says: figures must be comparable."""
    models_dir = os.environ.get("CODESERVE_MODELS_DIR")
    if config is not None:
        settings = load_settings(config, {"model": model})
    else:
        settings = ServerSettings(model=model, models_dir=Path(models_dir) if models_dir else None)
    return attrs.evolve(settings, host="127.0.0.1", port=0, token=None, token_file=None)


@contextlib.asynccontextmanager
async def hosted(
    model: str, config: Path | None, formats: Sequence[str], *, snippets: bool = False
) -> AsyncIterator[Hosted]:
    """Run the engine of a preset or model folder, and a server on a free port of this machine.

    ``formats`` are those in which the model alone is asked, besides its own. With ``snippets`` they go into
    prompts also where the preset leaves them out: what they bring is to be measured.
    Raises: ConfigError, EngineStartError.
    """
    from codeserve.commands.model import choose_model
    from codeserve.completion.fim import fim_format
    from codeserve.completion.prompt import LINE_TOKENS
    from codeserve.completion.tokens import Tokenizer
    from codeserve.engine.hub import fetch_model
    from codeserve.engine.prompts import prompt_builder
    from codeserve.engine.vllm_engine import VllmEngine
    from codeserve.server.app import Server
    from codeserve.server.logging import configure_logging

    settings = _settings(model, config)
    configure_logging("error", "console", sys.stderr)
    preset, weights = choose_model(settings)
    folder = fetch_model(weights)
    preset = attrs.evolve(preset, model=folder)
    if snippets and preset.snippet_tokens == 0:
        preset = attrs.evolve(preset, snippet_tokens=None)
    tokenizer = Tokenizer.load(folder)
    builder = prompt_builder(preset, tokenizer)
    block = preset.max_output_tokens
    budgets: dict[Mode, int] = {"line": min(block, LINE_TOKENS), "block": block, "auto": block}
    engine = VllmEngine(preset)
    raw = {
        name: RawModel(
            engine,
            tokenizer,
            fim_format(name, tokenizer),
            context_tokens=preset.context_tokens,
            max_tokens=budgets,
        )
        for name in dict.fromkeys([preset.fim, *formats])
    }
    server = Server(
        settings, engine, builder, tokenizer, min_confidence=preset.min_confidence, owns_engine=False
    )
    try:
        await engine.start()
        await server.start()
        yield Hosted(f"ws://127.0.0.1:{server.port}", raw)
    finally:
        await server.close()
        await engine.close()
