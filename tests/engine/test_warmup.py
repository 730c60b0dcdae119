"""The prompts of the warm-up."""

from __future__ import annotations

import pytest

from codeserve.engine.warmup import WARMUP_TOKENS, warmup_prompts

CONTEXTS = [256, 4096, 16384]


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("vocabulary", [1, 2, 300, 32016, 151936])
def test_prompts_fit(context: int, vocabulary: int) -> None:
    """Each prompt and its output fit the context, and all ids are in the vocabulary."""
    prompts = list(warmup_prompts(context, vocabulary))
    assert prompts
    for prompt in prompts:
        assert 0 < len(prompt) <= context - WARMUP_TOKENS
        assert all(0 <= token < vocabulary for token in prompt)


@pytest.mark.parametrize("context", CONTEXTS)
def test_kinds_of_prompts(context: int) -> None:
    """There is one of nearly the whole context, one that is nearly all cached, and a short one."""
    prompts = list(warmup_prompts(context, 32016))
    long, cached = prompts[:2]
    assert len(long) > 0.9 * (context - WARMUP_TOKENS) - WARMUP_TOKENS
    assert cached[: len(long)] == long
    assert len(cached) > len(long)
    assert len(prompts[-1]) < 64


def test_prompts_share_nothing_else() -> None:
    """No other prompt begins like the long one: it is worked on, not found in the cache."""
    long, _, *others = warmup_prompts(4096, 32016)
    assert all(other[:32] != long[:32] for other in others)
    assert others[0][:32] != others[1][:32]


def test_no_control_tokens() -> None:
    """In a real vocabulary the lowest ids, control tokens and bytes, are left out."""
    assert min(min(prompt) for prompt in warmup_prompts(4096, 32016)) >= 1000


def test_same_at_each_start() -> None:
    """The work is the same at each start."""
    assert list(warmup_prompts(512, 32016)) == list(warmup_prompts(512, 32016))
