"""The live requests of one connection, and which of them gives way to which."""

from __future__ import annotations

from time import monotonic

from codeserve.errors import EngineUnavailable, RequestError
from codeserve.protocol import Complete, Done, Error, ErrorCode, Finish, Prewarm, Timings, Tokens
from codeserve.server.context import Context
from codeserve.server.generation import Generation
from codeserve.server.mailbox import Mailbox
from codeserve.server.metrics import Outcome

__all__ = ["Requests"]

_PREWARM_MS = 300.0  # where a completion would take longer, a prewarm would only be in its way
_REMEMBERED = 64  # documents of a client whose prompts may still be cached


class Requests:
    """One live request a document: a newer one supersedes it. Other connections have their own."""

    def __init__(self, context: Context, mailbox: Mailbox) -> None:
        self._context = context
        self._mailbox = mailbox
        self.client = ""  # its name, for the log
        self._share = context.admission.share()
        self._live: dict[str, Generation] = {}  # by wire id
        self._documents: dict[str, Generation] = {}
        self._worked_on: dict[str, float] = {}  # documents, and when; oldest first

    def start(self, message: Complete | Prewarm, arrived: float) -> None:
        """Begin a request that arrived at the `monotonic` time ``arrived``; every outcome is answered."""
        if message.id in self._live:
            self._refuse(message, ErrorCode.DUPLICATE_ID, "a request with this id is live on this connection")
            return
        older = self._documents.get(message.document)
        if older is not None:
            if isinstance(message, Prewarm) and not older.is_prewarm:
                # The completion under way fills the cache just as well.
                done = Done(message.id, "", Finish.SUPERSEDED, Timings(0.0, None, 0.0), Tokens())
                self._context.metrics.ended(Outcome(done, None, prewarm=True))
                self._mailbox.put(done)
                return
            older.end(Finish.SUPERSEDED)
        since_s = self._since(message.document, arrived)
        try:
            self._context.require_engine()
            if isinstance(message, Complete):
                left_ms = message.deadline_ms - (monotonic() - arrived) * 1000
                self._share.take(message.candidates, left_ms, since_s=since_s)
            else:
                self._share.take(1, _PREWARM_MS, since_s=since_s, prewarm=True)
        except EngineUnavailable as exc:
            self._refuse(message, ErrorCode.UNAVAILABLE, str(exc), exc.retry_after_ms)
            return
        except RequestError as exc:
            self._refuse(message, exc.code, str(exc), exc.retry_after_ms)
            return
        self._live[message.id] = self._documents[message.document] = Generation(
            self._context,
            self._mailbox,
            message,
            arrived=arrived,
            client=self.client,
            since_s=since_s,
            on_end=self._ended,
        )

    def cancel(self, id: str) -> None:
        """End a request because its client no longer wants it; unknown ids may have just ended."""
        live = self._live.get(id)
        if live is not None:
            live.end(Finish.CANCELLED)

    def abandon(self) -> None:
        """The client is gone."""
        for live in list(self._live.values()):
            live.abandon()
        self._share.close()

    def stop(self) -> None:
        """The server stops and waits no longer."""
        for live in list(self._live.values()):
            live.fail(ErrorCode.UNAVAILABLE, "the server is stopping")

    def _remember(self, document: str) -> None:
        self._worked_on.pop(document, None)
        self._worked_on[document] = monotonic()
        if len(self._worked_on) > _REMEMBERED:
            del self._worked_on[next(iter(self._worked_on))]

    def _since(self, document: str, now: float) -> float | None:
        worked_on = self._worked_on.get(document)
        return None if worked_on is None else max(0.0, now - worked_on)

    def _ended(self, live: Generation) -> None:
        del self._live[live.message.id]
        del self._documents[live.message.document]
        self._share.give_back(live.weight, prewarm=live.is_prewarm)
        self._remember(live.message.document)

    def _refuse(
        self, message: Complete | Prewarm, code: str, reason: str, retry_after_ms: int | None = None
    ) -> None:
        self._context.metrics.error(code)
        if isinstance(message, Complete):
            self._context.metrics.refused(code)
        self._mailbox.put(Error(code, reason, message.id, retry_after_ms))
