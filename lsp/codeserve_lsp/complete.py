"""The promise: each request gets exactly one answer within the budget, whatever the server does.

The clock starts when the request arrives. At the deadline the answer is the whole lines so far; what the
model goes on to write lands in the cache and serves the next keystroke. A newer request for a document, or a
change of it, ends the older one at once: an answer to a text that is no more helps nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

import attrs

from codeserve.client import RequestError
from codeserve.protocol import MIN_CONFIDENCE, Done, ErrorCode, Finish, Mode, Snippet
from codeserve_lsp.cache import Cache, Suggestion, whole_lines
from codeserve_lsp.clean import MAX_CHARS, MAX_LINES, Intake
from codeserve_lsp.documents import Snapshot
from codeserve_lsp.stats import Stats
from codeserve_lsp.timing import Timing

__all__ = ["NOT_HERE", "Answer", "Completer", "Handle", "Request", "Server"]

# The answer is on its way this long before the budget ends: to be written, carried and read.
MARGIN_MS = 15
# The model may go on writing for this long after the budget, for the next keystroke.
LATE_MS = 1_500
# The reason for no answer where a keystroke is not worth a request (`codeserve_lsp.trigger`).
NOT_HERE = "not_here"

_ENDED_EARLY = (Finish.SUPERSEDED, Finish.CANCELLED, ErrorCode.UNAVAILABLE)

_log = logging.getLogger(__name__)


class Handle(Protocol):
    """A request under way: `codeserve.client.CompletionHandle`."""

    id: str
    total_ms: float | None

    def __aiter__(self) -> Handle: ...
    async def __anext__(self) -> str: ...
    async def result(self) -> Done: ...
    def cancel(self) -> None: ...


@attrs.frozen
class Request:
    """What is asked of the server for a cursor."""

    snapshot: Snapshot
    path: str
    snippets: list[Snippet] = attrs.field(repr=False)
    mode: Mode = "auto"
    deadline_ms: int = 300
    candidates: int = 1
    min_confidence: float | None = None  # None: the server's


class Server(Protocol):
    """The server, as a completion sees it. ``reason`` says why it takes no requests, "" when it does."""

    @property
    def reason(self) -> str: ...
    def complete(self, request: Request) -> Handle: ...


@attrs.frozen
class Answer:
    """The texts to show, best first, and the reason when there is none."""

    texts: list[str] = attrs.field(repr=False)
    reason: str
    suggestion: Suggestion | None = None
    cached: bool = False


@attrs.define(eq=False)
class _Ticket:
    """One request of the editor that waits."""

    wake: asyncio.Event = attrs.field(factory=asyncio.Event)
    superseded: bool = False

    def supersede(self) -> None:
        self.superseded = True
        self.wake.set()


class Completer:
    """Answers requests from the cache, from what is being written already, or by asking the server.

    ``prepare`` makes the request for a snapshot: which path it goes by, and what other files say.
    """

    def __init__(
        self, server: Server, prepare: Callable[[Snapshot], Request], *, budget_ms: int = 300
    ) -> None:
        self.budget_ms = budget_ms
        self.cache = Cache()
        self.stats = Stats()
        self.timing = Timing()
        self._server = server
        self._prepare = prepare
        self._waiting: dict[str, _Ticket] = {}  # by document
        self._readers: set[asyncio.Task[None]] = set()

    def busy(self, uri: str) -> bool:
        """Whether a request of the editor for this document waits."""
        return uri in self._waiting

    def changed(self, uri: str) -> None:
        """The document is another one now: a request that waits for the former text ends."""
        ticket = self._waiting.pop(uri, None)
        if ticket is not None:
            ticket.supersede()

    async def complete(
        self,
        snapshot: Snapshot,
        *,
        candidates: int = 1,
        arrived: float | None = None,
        by_hand: bool = False,
        ask: bool = True,
    ) -> Answer:
        """The answer for a cursor, within the budget from ``arrived`` (loop time, default now).

        ``by_hand``: the user asks, and gets what the model is unsure of, too. Without ``ask`` only what is
        known, or on its way, already counts.
        Raises nothing but its own cancellation.
        """
        loop = asyncio.get_running_loop()
        started = loop.time() if arrived is None else arrived
        deadline = started + (self.budget_ms - MARGIN_MS) / 1000
        self.changed(snapshot.uri)
        ticket = self._waiting[snapshot.uri] = _Ticket()
        try:
            answer = await self._answer(snapshot, candidates, deadline, ticket, by_hand=by_hand, ask=ask)
        except Exception:
            # what it is about stays out of the log: the traceback holds no source text
            _log.exception("a completion failed")
            answer = Answer([], "internal")
        finally:
            if self._waiting.get(snapshot.uri) is ticket:
                del self._waiting[snapshot.uri]
        ms = (loop.time() - started) * 1000
        self.stats.answered("shown" if answer.texts else answer.reason, ms)
        self.timing.answered(
            snapshot.uri,
            answer.reason,
            ms,
            request=answer.suggestion.id if answer.suggestion else "",
            cached=answer.cached,
            items=len(answer.texts[:candidates]),
        )
        return answer

    async def _answer(
        self,
        snapshot: Snapshot,
        candidates: int,
        deadline: float,
        ticket: _Ticket,
        *,
        by_hand: bool,
        ask: bool,
    ) -> Answer:
        match = self.cache.find(snapshot, asked=candidates)
        if by_hand and match is not None and match.suggestion.done and not match.suggestion.text:
            match = None  # it had nothing that is sure enough to be shown unasked
        if match is not None and match.suggestion.done:
            return self._found(match.suggestion, match.typed, cached=True)
        if self._server.reason:
            return Answer([], "unavailable")
        while True:
            if match is None and not ask:
                return Answer([], NOT_HERE)
            cached = match is not None
            suggestion, typed = match or (self.ask(snapshot, candidates=candidates, by_hand=by_hand), "")
            timely = await self._wait(suggestion, typed, deadline, ticket)
            if ticket.superseded:
                return Answer([], Finish.SUPERSEDED)
            if not timely:
                rests = suggestion.rests(typed)
                self.stats.late += not rests
                if cached and rests:
                    self._hit(suggestion)
                return Answer(rests[:1], Finish.DEADLINE, suggestion, cached)
            if suggestion.rests(typed) or not cached:
                return self._found(suggestion, typed, cached=cached)
            match = None  # what was being written turned out to be something else

    async def _wait(self, suggestion: Suggestion, typed: str, deadline: float, ticket: _Ticket) -> bool:
        """Wait until the suggestion is done or contradicts what was typed. False when time is up."""
        suggestion.listeners.add(ticket.wake)
        try:
            async with asyncio.timeout_at(deadline):
                while not (suggestion.done or ticket.superseded) and suggestion.fits(typed):
                    ticket.wake.clear()
                    await ticket.wake.wait()
        except TimeoutError:
            return False
        finally:
            suggestion.listeners.discard(ticket.wake)
        return True

    def _found(self, suggestion: Suggestion, typed: str, *, cached: bool) -> Answer:
        rests = suggestion.rests(typed)
        self.stats.from_cache += cached
        if cached and rests:
            self._hit(suggestion)
        return Answer(rests, suggestion.reason, suggestion, cached)

    def _hit(self, suggestion: Suggestion) -> None:
        if suggestion.prefetched:
            suggestion.prefetched = False  # one hit, however many keystrokes it serves
            self.stats.prefetch_hits += 1

    def ask(
        self, snapshot: Snapshot, *, candidates: int = 1, prefetch: bool = False, by_hand: bool = False
    ) -> Suggestion:
        """Ask the server and follow its answer into the cache; an older request for the document ends."""
        request = attrs.evolve(
            self._prepare(snapshot),
            candidates=candidates,
            deadline_ms=self.budget_ms + LATE_MS,
            min_confidence=MIN_CONFIDENCE if by_hand else None,
        )
        suggestion = Suggestion.at(snapshot, asked=candidates, prefetched=prefetch)
        handle = self._server.complete(request)
        suggestion.id = handle.id
        self.cache.add(snapshot.uri, suggestion)
        if prefetch:
            self.stats.prefetches += 1
        else:
            self.stats.requests += 1
        reader = asyncio.create_task(self._follow(snapshot, handle, suggestion))
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)
        return suggestion

    async def _follow(self, snapshot: Snapshot, handle: Handle, suggestion: Suggestion) -> None:
        text, reason, candidates = "", "internal", list[str]()
        prefetch = suggestion.prefetched
        document = snapshot.prefix, snapshot.suffix
        intake, too_long = Intake(document), False
        try:
            async for delta in handle:
                suggestion.feed(intake.take(delta))
                if intake.too_long or (intake.ended and suggestion.asked == 1):
                    handle.cancel()  # what it goes on to write is for nobody
                    break
            done = await handle.result()
        except RequestError as exc:
            reason = exc.code
            # the server's own words stay out: what it was asked may be in them
            _log.debug("no completion: %s", exc.code)
        except Exception:
            _log.exception("a completion cannot be read")
        else:
            reason = done.finish
            text, too_long = _taken(done.text, document)
            candidates = [_taken(each, document)[0] for each in done.candidates[: suggestion.asked]]
            self.stats.wrote(done.tokens, prefetch=prefetch)
            self.timing.ended(handle, done)
        stopped = intake.ended and not intake.too_long and reason == Finish.CANCELLED
        self.stats.prefetches_dropped += prefetch and reason in _ENDED_EARLY
        if not text and reason in (Finish.SUPERSEDED, Finish.CANCELLED):
            # good for when the cursor comes back here
            text = suggestion.text if stopped else whole_lines(suggestion.text)
        if intake.too_long:
            reason = Finish.LENGTH
        elif stopped or (not text and reason == Finish.STOP):
            reason = Finish.STOP if text.strip() else Finish.NO_SUGGESTION  # none of it may be used
        if intake.too_long or too_long:
            _log.warning("an answer of more than %d characters or %d lines was cut", MAX_CHARS, MAX_LINES)
        if not text and reason != Finish.NO_SUGGESTION:
            self.cache.remove(snapshot.uri, suggestion)
        suggestion.end(text, reason, candidates)
        self.cache.trim()

    async def close(self) -> None:
        """Answer what waits, with nothing, and end what still reads."""
        for uri in list(self._waiting):
            self.changed(uri)
        for reader in list(self._readers):
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)


def _taken(text: str, document: tuple[str, str]) -> tuple[str, bool]:
    """What of a whole text may be used, and whether it was too long: then that is its whole lines."""
    intake = Intake(document)
    taken = intake.take(text)
    return whole_lines(taken) if intake.too_long else taken, intake.too_long
