"""One sequence of a request: what the engine has brought of it so far."""

from __future__ import annotations

import asyncio

import attrs

from codeserve.completion.stream import CompletionStream
from codeserve.engine.base import GenerationChunk, GenerationRequest
from codeserve.protocol import Finish, Tokens

__all__ = ["Track"]


@attrs.define(eq=False)
class Track:
    """The greedy completion of a request, or one of its sampled alternatives, or a prewarm (no stream)."""

    request: GenerationRequest
    stream: CompletionStream | None
    min_confidence: float | None = None  # what is less sure is no suggestion
    speaks: bool = True  # its text is sent as it comes
    pump: asyncio.Task[None] | None = None  # takes the chunks from the engine
    finish: Finish | None = None  # None while it goes on
    released: bool = False  # the engine is done with it by itself
    output: int = 0
    chunk: GenerationChunk | None = None  # the latest; its counts are running totals
    queue_ms: float = 0.0  # in the engine, before it was first scheduled
    first_at: float = 0.0  # monotonic time of the first and of the latest chunk
    last_at: float = 0.0
    held: str = ""  # text that is not sent: too unsure so far, or of a sequence that does not speak
    confidence: float | None = None  # of `text`, as it was before it was found too low

    @property
    def over(self) -> bool:
        """Whether nothing further belongs to it."""
        return self.finish is not None

    @property
    def told(self) -> bool:
        """Whether text of it was sent."""
        return self.stream is not None and self.stream.sent > len(self.held)

    def take(self, chunk: GenerationChunk, now: float) -> str:
        """Take what the engine brought at ``now``; returns text to send on.

        While what there is of the completion is below ``min_confidence`` it stays in ``held``.
        """
        if self.chunk is None:
            self.first_at = now
            self.queue_ms = chunk.queue_ms or 0.0
        self.last_at = now
        self.output += len(chunk.token_ids)
        self.chunk = chunk
        text = ""
        if self.stream:
            self.held += self.stream.feed(chunk.token_ids, chunk.logprobs)
            if self.speaks and not self._unsure(self.stream.confidence(self.stream.sent)):
                text, self.held = self.held, ""
        if chunk.finish is not None:
            self.released = True
            self.finish = Finish.LENGTH if chunk.finish == "length" else Finish.STOP
        if self.stream and self.stream.stopped:
            self.finish = Finish.STOP
        return text

    def text(self) -> str:
        """The completion as it stands; whole lines only unless it has come to its end. "" when unsure."""
        if self.stream is None:
            return ""
        text = self.stream.finish(deadline=self.finish is None)
        self.confidence = self.stream.confidence(len(text))
        return "" if self._unsure(self.confidence) else text

    @staticmethod
    def best_first(tracks: list[Track]) -> tuple[list[Track], list[str]]:
        """The sequences of one request and their texts: the greedy one's, unless nothing comes of it.

        Then the first that has a text comes first; not where text of the greedy one was sent.
        """
        found = [(track, track.text()) for track in tracks]
        if found and not tracks[0].told:
            found.sort(key=lambda one: not one[1])
        return [track for track, _ in found], [text for _, text in found]

    def _unsure(self, confidence: float | None) -> bool:
        least = self.min_confidence
        return least is not None and confidence is not None and confidence < least

    @property
    def tpot_ms(self) -> float | None:
        """Mean milliseconds per token after the first."""
        return (self.last_at - self.first_at) * 1000 / (self.output - 1) if self.output > 1 else None

    @staticmethod
    def tokens(tracks: list[Track]) -> Tokens:
        """The counts of all sequences of one request; the prompt, which they share, counts once."""
        chunks = [track.chunk for track in tracks if track.chunk is not None]
        return Tokens(
            prompt=max((chunk.prompt_tokens for chunk in chunks), default=0),
            # the one that the engine began with had fewest; the others find what it has read
            cached=min((chunk.cached_tokens for chunk in chunks), default=0),
            output=sum(track.output for track in tracks),
            drafted=sum(chunk.drafted_tokens for chunk in chunks),
            accepted=sum(chunk.accepted_tokens for chunk in chunks),
        )
