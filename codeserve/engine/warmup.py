"""The generations that an engine makes before its first user comes.

Code paths compiled or allocated on first use are met here: a long prompt, one that is nearly all cached, a
short one.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["WARMUP_TOKENS", "warmup_prompts"]

WARMUP_TOKENS = 8  # to generate for each prompt

_LOW = 1000  # ids below are control tokens and bytes in all vocabularies that codeserve knows


def warmup_prompts(context_tokens: int, vocabulary: int) -> Iterator[list[int]]:
    """Prompts to run one after the other, as token ids. They share nothing with what a user would send."""
    low = min(_LOW, vocabulary // 2)
    state = 1

    def ids(count: int) -> list[int]:
        # Park and Miller's generator: the same work at each start, and no two parts alike.
        nonlocal state
        result = []
        for _ in range(count):
            state = state * 48271 % 0x7FFFFFFF
            result.append(low + state % (vocabulary - low))
        return result

    long = ids(context_tokens - 2 * WARMUP_TOKENS - 4)
    yield long
    yield [*long, *ids(4)]
    yield ids(context_tokens // 2)
    yield ids(40)
