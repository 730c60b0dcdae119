"""The prompts that a preset's model is asked with."""

from __future__ import annotations

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.preset import Preset

__all__ = ["prompt_builder"]


def prompt_builder(preset: Preset, tokenizer: Tokenizer, *, endless: bool = False) -> PromptBuilder:
    """In the preset's format and of its sizes; ``endless`` as `PromptBuilder` has it.

    Raises: ConfigError for a format that the tokenizer lacks, or when no room is left for code.
    """
    return PromptBuilder(
        tokenizer,
        fim_format(preset.fim, tokenizer),
        context_tokens=preset.context_tokens,
        max_output_tokens=preset.max_output_tokens,
        snippet_tokens=preset.snippet_tokens,
        endless=endless,
    )
