"""What an editor's extension is told of the time that things take, for its statistics and its latency view.

An answer is told as it goes out, and where the time of its request went once the server is done with it: the
answer of the deadline goes out long before that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from codeserve.protocol import Done

__all__ = ["CAPABILITY", "Notify", "Timed", "Timing"]

# In a client's experimental capabilities: true to be told.
CAPABILITY = "codeserveTimings"

# Sends a notification: its method and parameters.
Notify = Callable[[str, Mapping[str, Any]], None]


class Timed(Protocol):
    """A request that is over: milliseconds from where it was sent to where its end was read."""

    @property
    def total_ms(self) -> float | None: ...


class Timing:
    """Tells through ``notify``, once an editor has asked for it. No text goes through here."""

    def __init__(self) -> None:
        self.notify: Notify | None = None

    def answered(
        self, uri: str, reason: str, ms: float, *, request: str = "", cached: bool = False, items: int = 0
    ) -> None:
        """An answer with ``items`` texts went out, ``ms`` after its request came in.

        ``request`` is the server's name for what it came from, "" when nothing was asked; ``cached``: it was
        written, or being written, before this request came in.
        """
        if self.notify is not None:
            body = {"uri": uri, "reason": reason, "ms": _ms(ms), "request": request, "cached": cached}
            self.notify("codeserve/answered", {**body, "items": items})

    def ended(self, handle: Timed, done: Done) -> None:
        """A request is over. Nothing is told of one that the model never wrote for."""
        timings = done.timings
        if self.notify is None or handle.total_ms is None or timings.ttft_ms is None:
            return
        body = {
            "request": done.id,
            "networkMs": _ms(handle.total_ms - timings.total_ms),
            "queueMs": _ms(timings.queue_ms),
            "prefillMs": _ms(timings.ttft_ms - timings.queue_ms),
            "decodeMs": _ms(timings.total_ms - timings.ttft_ms),
            "promptTokens": done.tokens.prompt,
            "cachedTokens": done.tokens.cached,
            "outputTokens": done.tokens.output,
        }
        self.notify("codeserve/timed", body)


def _ms(value: float) -> float:
    """Not below zero: the two ends' clocks do not agree on a hundredth of a millisecond."""
    return round(max(value, 0.0), 2)
