"""The sequences of one request, counted together."""

from __future__ import annotations

from codeserve.engine.base import GenerationChunk, GenerationRequest
from codeserve.protocol import Tokens
from codeserve.server.track import Track


def track(cached: int, output: int) -> Track:
    request = GenerationRequest(id="r", prompt_token_ids=[1] * 100, max_tokens=8)
    made = Track(request, None)
    made.take(GenerationChunk((1,) * output, None, prompt_tokens=100, cached_tokens=cached), 0.0)
    return made


def test_the_prompt_counts_once() -> None:
    """What one sequence has read and the others found is not cached, in whatever order they are."""
    tracks = [track(96, 3), track(16, 2), track(96, 1)]
    assert Track.tokens(tracks) == Track.tokens(tracks[::-1]) == Tokens(prompt=100, cached=16, output=6)
    assert Track.tokens([]) == Tokens()
