"""Prompts that warm an engine up."""

from __future__ import annotations

from codeserve.engine.warmup import WARMUP_TOKENS, warmup_prompts


def test_they_fit() -> None:
    """All fit into the context with what they generate, and hold ids of the vocabulary."""
    for context in (256, 4096):
        prompts = list(warmup_prompts(context, 32016))
        assert all(0 < len(ids) <= context - WARMUP_TOKENS for ids in prompts)
        assert all(0 < id < 32016 for ids in prompts for id in ids)


def test_one_is_cached() -> None:
    """The second begins with the first, so that it finds its blocks in the cache; others do not."""
    first, second, *others = warmup_prompts(4096, 32016)
    assert second[: len(first)] == first
    assert len(second) > len(first) > 4000
    assert all(ids[:16] != first[:16] for ids in others)


def test_each_start_does_the_same() -> None:
    """Two starts make the same prompts."""
    assert list(warmup_prompts(512, 1000)) == list(warmup_prompts(512, 1000))
