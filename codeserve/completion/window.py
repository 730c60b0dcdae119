"""What of the text fits into the model's context, in tokens.

The suffix and the snippets get at most a quarter each, whatever the prefix is, or typing would change them
and with them the KV cache of all that follows. The prefix takes the rest and starts where `cut.anchor`
says. All of it costs what fits in the window, not what the text is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import attrs

from codeserve.completion.cut import PSEUDO_LINE, anchor, pieces, split_lines
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
    quarter: int  # for the suffix
    snippets: int

    @classmethod
    def of(
        cls, context_tokens: int, max_output_tokens: int, specials: int, snippets: int | None = None
    ) -> Budget:
        """Share out a context. ``snippets``: what they may have where that is less than a quarter.

        Raises: ConfigError when too little is left for code.
        """
        room = context_tokens - max_output_tokens - specials
        if room < _LEAST:
            raise ConfigError(
                f"context_tokens = {context_tokens} leaves {max(room, 0)} tokens for code beside "
                f"{max_output_tokens} of output: raise context_tokens or lower max_output_tokens"
            )
        quarter = room // 4
        return cls(room, quarter, quarter if snippets is None else min(snippets, quarter))

    def prefix(self, suffix: int, snippets: int) -> int:
        """What is left for the prefix beside a suffix and snippets of so many tokens.

        Both are rounded up, so that a small change to one does not move the start of the prefix.
        """
        step = self.room // _STEPS
        return self.room - sum(min(-(-used // step) * step, self.quarter) for used in (suffix, snippets))


def encode_tail(tokenizer: Tokenizer, text: str, limit: int, *, leading: bool = True) -> list[int]:
    """The ids of the end of ``text``, at most ``limit`` of them, from a stable line start.

    ``leading`` asks for SentencePiece's leading space in front. Line ends must be "\\n".
    """
    if limit <= 0 or not text:
        return []
    lines = split_lines(text)
    budget = limit
    while budget > 0:
        kept = _tail(tokenizer, lines, budget)
        if not kept:
            break
        ids = _join(tokenizer, kept, leading=leading)
        if len(ids) <= limit:
            return ids
        # The leading space, or lines that are encoded otherwise in company, may cost a few tokens more.
        budget -= len(ids) - limit
    return []


def _tail(tokenizer: Tokenizer, lines: list[str], limit: int) -> list[str]:
    """The pieces to keep of a text, first one first."""
    kept: list[str] = []
    for size in _SIZES:
        seen: list[str] = []
        sizes: list[int] = []

        def measure(piece: str, seen: list[str] = seen, sizes: list[int] = sizes) -> int:
            seen.append(piece)
            sizes.append(len(tokenizer.encode_line(piece)))
            return sizes[-1]

        count = anchor(pieces(reversed(lines), size), limit, measure)
        kept = seen[:count][::-1]
        # A pseudo-line of characters that take several tokens each may be too long for the room that is left.
        if count is None or 4 * sum(sizes[:count]) >= 3 * limit:
            break
    return kept


def encode_head(tokenizer: Tokenizer, text: str, limit: int) -> list[int]:
    """The ids of the beginning of ``text``, at most ``limit`` of them, to a line end where one is near."""
    kept: list[str] = []
    total = lines = lines_total = 0
    for piece in _forward(text):
        size = len(tokenizer.encode_line(piece))
        kept.append(piece)
        total += size
        if total > limit:
            if 4 * lines_total >= 3 * limit:
                del kept[lines:]
            break
        if piece.endswith("\n"):
            lines, lines_total = len(kept), total
    return _join(tokenizer, kept, leading=False)[:limit]


def encode_whole(tokenizer: Tokenizer, text: str, limit: int, *, leading: bool) -> list[int] | None:
    """The ids of ``text``, or None when they are more than ``limit``; gives up as soon as that is sure."""
    total = 0
    kept = []
    # In company lines may take fewer tokens than each on its own, where tokens span line ends.
    most = limit if tokenizer.linewise else 2 * limit
    for piece in _forward(text):
        kept.append(piece)
        total += len(tokenizer.encode_line(piece))
        if total > most:
            return None
    ids = _join(tokenizer, kept, leading=leading)
    return ids if len(ids) <= limit else None


def _forward(text: str) -> Iterator[str]:
    for line in split_lines(text):
        if len(line) <= PSEUDO_LINE:
            yield line
        else:
            yield from [piece for piece, _ in pieces([line])][::-1]


def _join(tokenizer: Tokenizer, parts: list[str], *, leading: bool) -> list[int]:
    """The ids of a text in pieces: piece by piece where that is exact, so that a keystroke costs one piece.

    (A line over 1,024 characters has its tokens split at the ends of its pieces, for the same reason.)
    """
    encode = tokenizer.encode if leading else tokenizer.encode_infilling
    if not tokenizer.linewise:
        return encode("".join(parts))
    ids = encode(parts[0]) if parts else []
    ids.extend(chain.from_iterable(map(tokenizer.encode_line, parts[1:])))
    return ids
