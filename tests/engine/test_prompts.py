"""The prompts of a preset."""

from pathlib import Path

import attrs
import pytest

from codeserve.completion.prompt import CompletionInput
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.presets import resolve_model
from codeserve.engine.prompts import prompt_builder
from codeserve.errors import ConfigError


def test_format_and_sizes_are_the_presets() -> None:
    """The preset's order of prefix and suffix, no more tokens than its context leaves beside the output."""
    preset, _ = resolve_model("mini-codellama")
    tokenizer = Tokenizer.load(Path(preset.model))
    long = CompletionInput(prefix="x = 1\n" * 3000, suffix="y = 2\n")
    prompts = {
        (fim, size): prompt_builder(attrs.evolve(preset, fim=fim, context_tokens=size), tokenizer).build(long)
        for fim in ("codellama-spm", "codellama-psm")
        for size in (1024, 2048)
    }
    for (fim, size), prompt in prompts.items():
        assert size // 2 < len(prompt.token_ids) <= size - preset.max_output_tokens
        assert (prompt.token_ids[2] == 32008) == (fim == "codellama-spm")


def test_room_for_other_files_is_the_presets() -> None:
    """The bundled model gets none of them; a preset that says nothing has a quarter."""
    preset, _ = resolve_model("mini-codellama")
    tokenizer = Tokenizer.load(Path(preset.model))
    for tokens, room in ((preset.snippet_tokens, 0), (200, 200), (None, 991)):
        one = attrs.evolve(preset, snippet_tokens=tokens)
        assert prompt_builder(one, tokenizer).snippet_tokens == room


def test_a_format_that_the_tokenizer_lacks() -> None:
    """It is refused, and not made of what there is."""
    preset, _ = resolve_model("mini-codellama")
    with pytest.raises(ConfigError):
        prompt_builder(attrs.evolve(preset, fim="starcoder2"), Tokenizer.load(Path(preset.model)))
