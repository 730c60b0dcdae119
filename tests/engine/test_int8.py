"""A model that `codeserve quantize` made, in the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeserve.engine.base import GenerationRequest
from codeserve.engine.presets import resolve_model
from codeserve.engine.quantize import quantize
from codeserve.engine.vllm_engine import VllmEngine
from tests.engine.llama import plain_mini
from tests.engine.models import repetitive_code

pytestmark = pytest.mark.engine

WORDS = ("one", "two", "three", "four")


async def answers(engine: VllmEngine) -> list[list[int]]:
    """24 tokens after each prompt."""
    found = []
    for name in WORDS:
        request = GenerationRequest(id=f"int8-{name}", prompt_token_ids=repetitive_code(name), max_tokens=24)
        chunks = [chunk async for chunk in engine.generate(request)]
        found.append([id for chunk in chunks for id in chunk.token_ids])
    return found


async def test_answers_of_a_quantised_folder(engine: VllmEngine, tmp_path: Path) -> None:
    """The bundled model's values in fp32, with an output layer of its own as CodeLlama has it, made INT8 and
    served from their folder: the same answers as the bundled model's.
    """
    source = plain_mini(tmp_path / "plain", tie_word_embeddings=False, torch_dtype="float32")
    quantize(source, tmp_path / "made")
    preset, _ = resolve_model(str(tmp_path / "made"))
    made = VllmEngine(preset)
    await made.start()
    try:
        assert await answers(made) == await answers(engine)
    finally:
        await made.close()
