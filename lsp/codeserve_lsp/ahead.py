"""What is asked for before anyone asks: the completion behind an accepted one, and warm caches.

A prefetch is a request like any other, made at the place where the cursor will be. When the editor asks there
it finds the answer in the cache or on its way. A prewarm only has the server read the text.
"""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import attrs

from codeserve_lsp.cache import Suggestion
from codeserve_lsp.complete import Answer, Completer, Request
from codeserve_lsp.documents import Snapshot
from codeserve_lsp.relay import Event
from codeserve_lsp.settings import Prefetch

__all__ = ["Ahead", "Offer", "Warmer"]

# Answers whose acceptance can still be told, and bytes of text that they hold in all.
OFFERS = 64
OFFERS_BYTES = 4_000_000
# A cursor that stays this long in a place may be about to write there.
REST_S = 0.4


class Warmer(Protocol):
    """The server, as far as it is told things that it does not answer."""

    @property
    def reason(self) -> str: ...
    def prewarm(self, request: Request) -> None: ...
    def feedback(self, id: str, event: Event, characters: int | None) -> None: ...


@attrs.frozen
class Offer:
    """One text that was shown."""

    key: str
    snapshot: Snapshot
    text: str = attrs.field(repr=False)
    suggestion: Suggestion
    # Bytes, counted as if no other offer shared any; once, since a text grows where it is encoded to be sent.
    size: int = attrs.field(init=False)

    @size.default
    def _count(self) -> int:
        return sum(map(sys.getsizeof, (self.snapshot.prefix, self.snapshot.suffix, self.text)))


class Ahead:
    """Follows what the user does with completions and where the cursor is.

    ``stays_here(uri)``: whether a document must not be sent, or not any more.
    """

    def __init__(
        self,
        completer: Completer,
        server: Warmer,
        prepare: Callable[[Snapshot], Request],
        stays_here: Callable[[str], bool],
    ) -> None:
        self.prefetch: Prefetch = "accept"
        self.prewarm = True
        self._completer = completer
        self._server = server
        self._prepare = prepare
        self._stays_here = stays_here
        self._offers: OrderedDict[str, Offer] = OrderedDict()
        self._size = 0  # of all of them
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._warmed: tuple[str, str] = ("", "")  # document and the line that was warmed last

    def offer(self, snapshot: Snapshot, answer: Answer) -> list[Offer]:
        """Note what an answer shows. With prefetch ``show`` ask for what would follow its first text."""
        suggestion = answer.suggestion
        if suggestion is None:
            return []
        offers = []
        for text in answer.texts:
            self._count += 1
            offers.append(Offer(str(self._count), snapshot, text, suggestion))
            self._offers[offers[-1].key] = offers[-1]
            self._size += offers[-1].size
        while len(self._offers) > OFFERS or self._size > OFFERS_BYTES:
            self._drop(next(iter(self._offers)))
        if offers and self.prefetch == "show" and suggestion.done:
            self._fetch(offers[0])
        return offers

    def told(self, key: str, event: Event, characters: int | None = None) -> None:
        """The editor says what became of an offer. An unknown key is passed over."""
        offer = self._offers.get(key)
        if offer is None:
            return
        if event == "accepted":
            self._drop(key)
            characters = len(offer.text)
            if self.prefetch != "off":
                self._fetch(offer)
        self._server.feedback(offer.suggestion.id, event, characters)

    def _drop(self, key: str) -> None:
        self._size -= self._offers.pop(key).size

    def _fetch(self, offer: Offer) -> None:
        """Ask for what follows an offer, unless that was asked for already or the document is ruled out."""
        if self._stays_here(offer.snapshot.uri):
            return
        after = attrs.evolve(offer.snapshot, prefix=offer.snapshot.prefix + offer.text)
        if not self._server.reason and self._completer.cache.find(after) is None:
            self._completer.ask(after, prefetch=True)

    def rests(self, uri: str, look: Callable[[], Snapshot | None]) -> None:
        """The cursor is somewhere in a document: once it has rested, have the server read there.

        ``look`` gives what is to be read by then, None for nothing.
        """
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(REST_S, self._rested, uri, look)

    def stop(self) -> None:
        """The cursor moved on: what was to be warmed is not."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def asked(self, snapshot: Snapshot) -> None:
        """The server is asked there, and has read it then."""
        self._warmed = _line_start(snapshot)

    def _rested(self, uri: str, look: Callable[[], Snapshot | None]) -> None:
        self._timer = None
        if self._completer.busy(uri):
            return
        snapshot = look()
        if snapshot is None or not self.prewarm or self._server.reason:
            return
        # within a line the server's cache has all but the last few tokens
        if _line_start(snapshot) != self._warmed:
            self.asked(snapshot)
            self._completer.stats.prewarms += 1
            self._server.prewarm(self._prepare(snapshot))

    def cold(self) -> None:
        """What the server has read is not what it would be sent now."""
        self._warmed = ("", "")

    def forget(self) -> None:
        """Another server, or other settings: nothing that was shown counts any more."""
        self._offers.clear()
        self._size = 0
        self.cold()
        self.stop()

    def closed(self, uri: str) -> None:
        """The document is gone, and what was shown in it."""
        for key in [key for key, offer in self._offers.items() if offer.snapshot.uri == uri]:
            self._drop(key)


def _line_start(snapshot: Snapshot) -> tuple[str, str]:
    return snapshot.uri, snapshot.prefix[: snapshot.prefix.rfind("\n") + 1]
