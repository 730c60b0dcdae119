"""A request as a frame that keeps to the server's limits."""

from __future__ import annotations

import attrs

from codeserve.completion.cut import cut_prefix, cut_suffix
from codeserve.errors import RequestError
from codeserve.protocol import Complete, ErrorCode, Limits, Prewarm
from codeserve.wire import encode

__all__ = ["fit"]


def fit(request: Complete | Prewarm, limits: Limits) -> str:
    """The text of one frame of at most ``limits.frame_bytes`` bytes.

    Prefix and suffix are cut, deadline and candidates lowered to the limits, and snippets left out where the
    server would do so. Where the frame would still be too big, snippets go, the last one first; then prefix
    and suffix are halved until it fits.
    Raises: RequestError (invalid) when not even that helps.
    """
    if isinstance(request, Complete):
        request = attrs.evolve(
            request,
            deadline_ms=min(request.deadline_ms, limits.deadline_ms),
            candidates=min(request.candidates, limits.candidates),
        )
    if limits.snippet_tokens == 0:
        request = attrs.evolve(request, snippets=[])
    prefix_chars, suffix_chars = limits.prefix_chars, limits.suffix_chars
    while True:
        request = attrs.evolve(
            request,
            prefix=cut_prefix(request.prefix, prefix_chars),
            suffix=cut_suffix(request.suffix, suffix_chars),
        )
        frame = encode(request)
        if len(frame.encode()) <= limits.frame_bytes:
            return frame
        if request.snippets:
            request = attrs.evolve(request, snippets=request.snippets[:-1])
        elif request.prefix or request.suffix:
            prefix_chars, suffix_chars = len(request.prefix) // 2, len(request.suffix) // 2
        else:
            raise RequestError(ErrorCode.INVALID, "the path or language is too long for this server's frames")
