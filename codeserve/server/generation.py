"""The life of one `Complete` or `Prewarm`: from the frame that asks to the one message that answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic  # not the loop's time: uvloop's is a millisecond coarse

import structlog

from codeserve.completion.prompt import CompletionInput, Prompt
from codeserve.completion.stream import CompletionStream
from codeserve.engine.base import GenerationChunk, GenerationRequest
from codeserve.errors import EngineUnavailable, RequestError
from codeserve.protocol import Complete, Done, Error, ErrorCode, Finish, Prewarm, Timings
from codeserve.server.context import Context
from codeserve.server.logging import document_hash, label, origin_of
from codeserve.server.mailbox import Mailbox
from codeserve.server.metrics import Outcome
from codeserve.server.pace import Service
from codeserve.server.track import Track

__all__ = ["Generation"]

_log = structlog.get_logger("codeserve.request")

_PREWARM_DEADLINE_MS = 5_000
_DELIVERY_MS = 8.0  # from the end of the work to the answer in the client's hand, on a busy small machine
_DELIVERY_SHARE = 0.1  # of a deadline, at most
_THREAD_CHARS = 131_072  # of text, above which a prompt is built in a thread
_PREWARM_PRIORITY = 1 << 40  # behind every deadline that a server will live to see
_CANDIDATE_TEMPERATURE = 0.6  # of the alternatives to the greedy completion


class Generation:
    """A live request. It ends once: by the engine, its deadline, its client or a failure, whichever is first.

    The end is decided, answered and counted in one go; only the engine's abort follows in the background.
    """

    def __init__(
        self,
        context: Context,
        mailbox: Mailbox,
        message: Complete | Prewarm,
        *,
        arrived: float,
        client: str,
        since_s: float | None,
        on_end: Callable[[Generation], None],
    ) -> None:
        """``arrived`` is the `monotonic` time of the frame, ``client`` the name of who asks, for the log;
        ``since_s`` the time since the engine last worked on this document for the client, None for never.
        """
        self.message = message
        self.is_prewarm = isinstance(message, Prewarm)
        self.weight = message.candidates if isinstance(message, Complete) else 1  # sequences in the engine
        self._context = context
        self._mailbox = mailbox
        self._arrived = arrived
        self._client = client
        self._since_s = since_s
        self._live_at_start = context.admission.live
        self._on_end = on_end
        self._tracks: list[Track] = []  # the greedy one first; at the end, the best one
        self._asked_at: float | None = None  # when the engine was first asked
        self._ended = False
        budget_ms = message.deadline_ms if isinstance(message, Complete) else _PREWARM_DEADLINE_MS
        # The deadline is the client's: the answer has to be there by then, not to leave by then.
        self._deadline = arrived + (budget_ms - min(_DELIVERY_MS, budget_ms * _DELIVERY_SHARE)) / 1000
        # The loop's own timer: it holds whether or not the engine says anything.
        self._timer = asyncio.get_running_loop().call_later(
            self._deadline - monotonic(), self.end, Finish.DEADLINE
        )
        context.spawn(self._begin())

    async def _begin(self) -> None:
        """Ask the engine."""
        if self._too_late:
            return
        try:
            prompt = await self._prompt()
            if self._ended:  # while a thread was at it
                return
            self._tracks = [self._track(prompt, index) for index in range(self.weight)]
        except Exception as exc:
            self._fail_unexpected(exc)
            return
        for track in self._tracks:
            track.pump = self._context.spawn(self._follow(track))

    async def _prompt(self) -> Prompt:
        """Warm it is about a millisecond's work; a text beyond what clients send must not stop the others."""
        source = _input(self.message)
        size = len(source.prefix) + len(source.suffix) + sum(len(text) for _, text in source.snippets)
        if size > _THREAD_CHARS:
            return await asyncio.to_thread(self._context.builder.build, source)
        return self._context.builder.build(source)

    @property
    def _too_late(self) -> bool:
        """Whether there is nothing left to do: it has ended, or its timer is about to fire."""
        return self._ended or monotonic() >= self._deadline

    def _track(self, prompt: Prompt, index: int) -> Track:
        # Its deadline is its place in the engine's queue.
        priority = _PREWARM_PRIORITY if self.is_prewarm else round(self._deadline * 1000)
        request = GenerationRequest(
            id=f"r{next(self._context.numbers)}",
            prompt_token_ids=prompt.token_ids,
            max_tokens=1 if self.is_prewarm else prompt.max_tokens,
            stop_token_ids=prompt.stop_token_ids,
            temperature=_CANDIDATE_TEMPERATURE if index else 0.0,
            seed=index or None,
            priority=priority,
            logprobs=not self.is_prewarm and self._min_confidence is not None,
        )
        stream = None if self.is_prewarm else CompletionStream(self._context.tokenizer, prompt)
        return Track(request, stream, self._min_confidence, speaks=not index)

    @property
    def _min_confidence(self) -> float | None:
        asked = self.message.min_confidence if isinstance(self.message, Complete) else None
        return self._context.min_confidence if asked is None else asked

    async def _follow(self, track: Track) -> None:
        """Take what the engine generates for one sequence until it ends."""
        if self._too_late:
            return
        if self._asked_at is None:
            self._asked_at = monotonic()
        try:
            async for chunk in self._context.engine.generate(track.request):
                # What comes after its end goes on until the abort that is under way takes hold.
                if not (self._ended or track.over):
                    self._take(track, chunk)
            if not self._ended and not track.over:
                raise EngineUnavailable("the engine gave the request up")
        except RequestError as exc:
            self.fail(exc.code, str(exc), exc.retry_after_ms)
        except EngineUnavailable as exc:
            retry = exc.retry_after_ms or self._context.admission.retry_after_ms
            self.fail(ErrorCode.UNAVAILABLE, str(exc), retry)
        except Exception as exc:
            self._fail_unexpected(exc)

    def _take(self, track: Track, chunk: GenerationChunk) -> None:
        text = track.take(chunk, monotonic())
        if text:
            self._mailbox.delta(self, self.message.id, text)
        if track.finish is not None:
            self._release(track)
            if all(other.over for other in self._tracks):
                self.end(self._tracks[0].finish or Finish.STOP)

    def _release(self, track: Track) -> None:
        """Have the engine drop a sequence, unless it is done with it by itself."""
        if not track.released:
            track.released = True
            self._context.spawn(self._abort(track))

    async def _abort(self, track: Track) -> None:
        try:
            await self._context.engine.abort(track.request.id)
        except EngineUnavailable:
            pass  # it died, and the sequence with it
        except Exception as exc:
            _log.error("abort failed", origin=origin_of(exc))
        finally:
            if track.pump is not None:
                track.pump.cancel()

    def end(self, finish: Finish) -> None:
        """Answer with `Done`; without effect once the request has ended."""
        if self._ended:
            return
        try:
            done = self._done(finish)
        except Exception as exc:
            self._fail_unexpected(exc)
            return
        self._observe()
        self._close()
        if done.text and (held := self._tracks[0].held):
            self._mailbox.delta(self, self.message.id, held)
        self._mailbox.end(self, done)
        tpot_ms = self._tracks[0].tpot_ms if self._tracks else None
        self._context.metrics.ended(Outcome(done, tpot_ms, self.is_prewarm))
        self._report(done, done.finish)

    def fail(self, code: str, message: str, retry_after_ms: int | None = None) -> None:
        """Answer with `Error`; without effect once the request has ended."""
        if self._ended:
            return
        self._close()
        self._mailbox.end(self, Error(code, message, self.message.id, retry_after_ms))
        done = self._counts(Finish.CANCELLED)
        self._context.metrics.error(code)
        self._context.metrics.failed(done, code)
        self._report(done, code)

    def abandon(self) -> None:
        """The client is gone: stop working on it, answer nobody."""
        if self._ended:
            return
        self._observe()
        self._close()
        done = self._counts(Finish.CANCELLED)
        self._context.metrics.disconnected(done)
        self._report(done, "disconnected")

    def _fail_unexpected(self, error: Exception) -> None:
        _log.error("request failed", origin=origin_of(error), document=document_hash(self.message.document))
        self.fail(ErrorCode.INTERNAL, "the server failed on this request; its log says where")

    def _close(self) -> None:
        self._ended = True
        self._timer.cancel()
        for track in self._tracks:
            self._release(track)
        self._on_end(self)

    def _observe(self) -> None:
        """Let admission know what it got of the engine; a prewarm waits for others and tells nothing."""
        if self.is_prewarm:
            return
        first = self._tracks[0] if self._tracks else None
        tokens = Track.tokens(self._tracks)
        service = Service(
            live=(self._live_at_start + self._context.admission.live) / 2,
            age_ms=(monotonic() - self._arrived) * 1000,
            ttft_ms=(first.first_at - self._arrived) * 1000 if first and first.output else None,
            tpot_ms=first.tpot_ms if first else None,
            prompt_tokens=tokens.prompt,
            cached_tokens=tokens.cached,
            since_s=self._since_s,
        )
        self._context.admission.observe(service)

    def _done(self, finish: Finish) -> Done:
        """The answer. Superseded and cancelled requests get no text: nobody wants it any more."""
        texts: list[str] = []
        if finish not in (Finish.SUPERSEDED, Finish.CANCELLED):
            self._tracks, texts = Track.best_first(self._tracks)
        text = texts[0] if texts else ""
        if self.is_prewarm:
            finish = Finish.PREWARMED if finish in (Finish.STOP, Finish.LENGTH) else finish
        elif not text and finish in (Finish.STOP, Finish.LENGTH):
            finish = Finish.NO_SUGGESTION
        candidates = list(dict.fromkeys(filter(None, texts))) if text and self.weight > 1 else []
        return self._counts(finish, text, candidates)

    def _counts(self, finish: Finish, text: str = "", candidates: list[str] | None = None) -> Done:
        now = monotonic()
        first = self._tracks[0] if self._tracks else None
        queued = now if self._asked_at is None or first is None or first.chunk is None else self._asked_at
        waited_ms = first.queue_ms if first else 0.0
        return Done(
            id=self.message.id,
            text=text,
            finish=finish,
            timings=Timings(
                queue_ms=round((queued - self._arrived) * 1000 + waited_ms, 3),
                ttft_ms=round((first.first_at - self._arrived) * 1000, 3) if first and first.output else None,
                total_ms=round((now - self._arrived) * 1000, 3),
            ),
            tokens=Track.tokens(self._tracks),
            candidates=candidates or [],
            confidence=None if first is None or first.confidence is None else round(first.confidence, 4),
        )

    def _report(self, done: Done, how: str) -> None:
        """One event a request, without any of its text."""
        message = self.message
        _log.info(
            "prewarm" if self.is_prewarm else "completion",
            id=label(message.id),
            client=self._client,
            document=document_hash(message.document),
            language=label(message.language, 32),
            finish=str(how),
            queue_ms=done.timings.queue_ms,
            ttft_ms=done.timings.ttft_ms,
            total_ms=done.timings.total_ms,
            prompt_tokens=done.tokens.prompt,
            cached_tokens=done.tokens.cached,
            output_tokens=done.tokens.output,
        )


def _input(message: Complete | Prewarm) -> CompletionInput:
    return CompletionInput(
        prefix=message.prefix,
        suffix=message.suffix,
        path=message.path,
        language=message.language,
        snippets=tuple((snippet.path, snippet.text) for snippet in message.snippets),
        mode=message.mode if isinstance(message, Complete) else "auto",
        max_tokens=message.max_tokens if isinstance(message, Complete) else None,
    )
