"""What of the text fits into the model's context, in tokens.

The suffix and the snippets get at most a quarter each, whatever the prefix is, or typing would change them
and with them the KV cache of all that follows. The prefix takes the rest and starts where `cut.choose_start`
says. All of it costs what fits in the window, not what the text is long.
"""

from __future__ import annotations

import attrs

from codeserve.completion.cut import PSEUDO_LINE, Piece, choose_start, pieces_forward
from codeserve.completion.tokens import Tokenizer
from codeserve.errors import ConfigError

__all__ = ["Budget", "encode_head", "encode_tail", "encode_whole"]

_LEAST = 64  # tokens for code below which there is no use in asking a model
_SIZES = (PSEUDO_LINE, PSEUDO_LINE // 8, PSEUDO_LINE // 64, 1)  # characters
_STEPS = 16  # of the room; what the suffix and the snippets take is rounded up to it


@attrs.frozen
class Budget:
    """How many tokens each part of a prompt may have."""

    room: int  # for code of all kinds
    quarter: int  # for the suffix, and for the snippets

    @classmethod
    def of(cls, context_tokens: int, max_output_tokens: int, specials: int) -> Budget:
        """Share out a context. Raises: ConfigError when too little is left for code."""
        room = context_tokens - max_output_tokens - specials
        if room < _LEAST:
            raise ConfigError(
                f"context_tokens = {context_tokens} leaves {max(room, 0)} tokens for code beside "
                f"{max_output_tokens} of output: raise context_tokens or lower max_output_tokens"
            )
        return cls(room, room // 4)

    def prefix(self, suffix: int, snippets: int) -> int:
        """What is left for the prefix beside a suffix and snippets of so many tokens.

        Both are rounded up, so that a small change to one does not move the start of the prefix.
        """
        step = self.room // _STEPS
        return self.room - sum(min(-(-used // step) * step, self.quarter) for used in (suffix, snippets))


def _measure(tokenizer: Tokenizer, text: str, piece: Piece) -> int:
    return len(tokenizer.encode_line(text[piece.start : piece.end]))


def _encode(tokenizer: Tokenizer, text: str, size: int, leading: bool) -> list[int]:
    """The ids of ``text``; in the pieces that were measured, where a piece is encoded alike on its own.

    A line longer than ``size`` is encoded piece by piece too: typing at its end costs one piece.
    """
    encode = tokenizer.encode if leading else tokenizer.encode_infilling
    if not tokenizer.linewise:
        return encode(text)
    ids: list[int] = []
    for piece in pieces_forward(text, size):
        part = text[piece.start : piece.end]
        ids.extend(tokenizer.encode_line(part) if ids else encode(part))
    return ids


def encode_tail(tokenizer: Tokenizer, text: str, limit: int, *, leading: bool = True) -> list[int]:
    """The ids of the end of ``text``, at most ``limit`` of them, from a stable line start.

    ``leading`` asks for SentencePiece's leading space in front. Line ends must be "\\n".
    """

    def measure(piece: str) -> int:
        return len(tokenizer.encode_line(piece))

    budget = limit
    while budget > 0:
        size, start = next(
            (
                (size, start)
                for size in _sizes()
                if (start := choose_start(text, budget, measure, size=size)) < len(text)
            ),
            (1, len(text)),
        )
        ids = _encode(tokenizer, text[start:], size, leading)
        if len(ids) <= limit:
            return ids
        # The leading space, or lines that are encoded otherwise in company, may cost a few tokens more.
        budget -= len(ids) - limit
    return []


def encode_head(tokenizer: Tokenizer, text: str, limit: int) -> list[int]:
    """The ids of the beginning of ``text``, at most ``limit`` of them, to a line end where one is near."""
    total = line_end = line_total = 0
    for piece in pieces_forward(text):
        size = _measure(tokenizer, text, piece)
        if total + size > limit:
            end = line_end if 4 * line_total >= 3 * limit else piece.end
            return _encode(tokenizer, text[:end], PSEUDO_LINE, False)[:limit]
        total += size
        if text[piece.end - 1] == "\n":
            line_end, line_total = piece.end, total
    return _encode(tokenizer, text, PSEUDO_LINE, False)[:limit]


def encode_whole(tokenizer: Tokenizer, text: str, limit: int, *, leading: bool) -> list[int] | None:
    """The ids of ``text``, or None when they are more than ``limit``; gives up as soon as that is sure."""
    total = 0
    for piece in pieces_forward(text):
        total += _measure(tokenizer, text, piece)
        if total > limit:
            return None
    ids = _encode(tokenizer, text, PSEUDO_LINE, leading)
    return ids if len(ids) <= limit else None
