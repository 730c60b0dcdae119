"""What became of the requests, counted: answers by reason, and what prefetching costs and brings."""

from __future__ import annotations

from collections import Counter
from typing import Any

from codeserve.protocol import Tokens

__all__ = ["Stats"]


class Stats:
    """Counters since the start. They hold no text and no names."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self.requests = 0  # sent to the server for a cursor
        self.from_cache = 0  # answered without a request of their own
        self.prefetches = 0
        self.prefetch_hits = 0
        self.prefetch_tokens = 0  # that the model wrote for prefetches
        self.prefetches_dropped = 0  # ended before they were done: what they took is not known
        self.prompt_tokens = 0  # of completions that ended at the server, prefetches left out
        self.cached_tokens = 0  # of these, what the server had in its cache
        self.output_tokens = 0
        self.prewarms = 0
        self.late = 0  # completions that came in after their answer had gone out
        self.slowest_ms = 0.0  # from a request's arrival to its answer

    def answered(self, reason: str, ms: float) -> None:
        """Count an answer that took so long."""
        self.answers[reason] += 1
        self.slowest_ms = max(self.slowest_ms, ms)

    def wrote(self, tokens: Tokens, *, prefetch: bool) -> None:
        """Count what the server says a completion took. One that was given up says nothing."""
        if prefetch:
            self.prefetch_tokens += tokens.output
            return
        self.prompt_tokens += tokens.prompt
        self.cached_tokens += tokens.cached
        self.output_tokens += tokens.output

    def as_dict(self) -> dict[str, Any]:
        """Camel-case names, as LSP has them."""
        return {
            "answers": dict(self.answers),
            "requests": self.requests,
            "fromCache": self.from_cache,
            "prefetches": self.prefetches,
            "prefetchHits": self.prefetch_hits,
            "prefetchTokens": self.prefetch_tokens,
            "prefetchesDropped": self.prefetches_dropped,
            "promptTokens": self.prompt_tokens,
            "cachedTokens": self.cached_tokens,
            "outputTokens": self.output_tokens,
            "prewarms": self.prewarms,
            "late": self.late,
            "slowestMs": round(self.slowest_ms, 1),
        }
