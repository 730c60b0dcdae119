"""Prefetching and prewarming, on doubles."""

from __future__ import annotations

import asyncio
import sys
from functools import partial

import orjson
import pytest

from codeserve_lsp import ahead as module
from codeserve_lsp.ahead import OFFERS, Ahead
from codeserve_lsp.complete import Answer, Completer, Request
from codeserve_lsp.documents import Snapshot
from codeserve_lsp.relay import Event
from tests.lsp.double_server import URI, DoubleServer, at, done


class Warm(DoubleServer):
    """A double that also takes what is not answered."""

    def __init__(self) -> None:
        super().__init__(done("foo"))
        self.warmed: list[str] = []
        self.ruled_out: set[str] = set()
        self.told: list[tuple[str, str, int | None]] = []

    def prewarm(self, request: Request) -> None:
        self.warmed.append(request.snapshot.prefix)

    def feedback(self, id: str, event: Event, characters: int | None) -> None:
        self.told.append((id, event, characters))


@pytest.fixture
def server() -> Warm:
    return Warm()


@pytest.fixture
def ahead(server: Warm, monkeypatch: pytest.MonkeyPatch) -> Ahead:
    monkeypatch.setattr(module, "REST_S", 0.01)

    def prepare(snapshot: Snapshot) -> Request:
        return Request(snapshot, "a.py", [])

    return Ahead(Completer(server, prepare), server, prepare, lambda uri: uri in server.ruled_out)


async def answer(ahead: Ahead, prefix: str) -> Answer:
    return await ahead._completer.complete(at(prefix))


async def test_accepting_asks_for_what_follows(ahead: Ahead, server: Warm) -> None:
    """The acceptance is told and the completion behind it asked for; a second time is no news."""
    [offer] = ahead.offer(at("x"), await answer(ahead, "x"))
    for _ in range(2):
        ahead.told(offer.key, "accepted")
    assert server.told == [("1", "accepted", 3)]
    assert [handle.request.snapshot.prefix for handle in server.handles] == ["x", "xfoo"]
    await asyncio.sleep(0.01)
    assert (await answer(ahead, "xfoo")).texts == ["foo"]
    assert len(server.handles) == 2


async def test_nothing_follows_in_a_document_that_is_ruled_out_since(ahead: Ahead, server: Warm) -> None:
    """An item of a file that was ignored meanwhile is accepted: that is told, the text is not sent again."""
    [offer] = ahead.offer(at("x"), await answer(ahead, "x"))
    server.ruled_out.add(URI)
    ahead.told(offer.key, "accepted")
    assert server.told == [("1", "accepted", 3)]
    assert [handle.request.snapshot.prefix for handle in server.handles] == ["x"]


async def test_showing_asks_when_set_so(ahead: Ahead, server: Warm) -> None:
    """With ``show`` the next completion is asked for with the first, once; accepting it asks no more."""
    ahead.prefetch = "show"
    [offer] = ahead.offer(at("x"), await answer(ahead, "x"))
    ahead.offer(at("x"), await answer(ahead, "x"))
    ahead.told(offer.key, "accepted")
    assert [handle.request.snapshot.prefix for handle in server.handles] == ["x", "xfoo"]


async def test_no_prefetch(ahead: Ahead, server: Warm) -> None:
    """Switched off, or without a server, nothing is asked; what happened is told all the same."""
    ahead.prefetch = "off"
    [offer] = ahead.offer(at("x"), await answer(ahead, "x"))
    ahead.told(offer.key, "accepted")
    ahead.prefetch = "accept"
    [offer] = ahead.offer(at("x"), await answer(ahead, "x"))
    server.reason = "offline"
    ahead.told(offer.key, "accepted")
    assert len(server.handles) == 1
    assert len(server.told) == 2


async def test_other_events_and_unknown_keys(ahead: Ahead, server: Warm) -> None:
    """Showing and accepting a part are told with their numbers; an unknown key is passed over."""
    [offer] = ahead.offer(at("x"), await answer(ahead, "x"))
    ahead.told(offer.key, "shown")
    ahead.told(offer.key, "partially_accepted", 2)
    ahead.told("nonsense", "accepted")
    assert server.told == [("1", "shown", None), ("1", "partially_accepted", 2)]


async def test_offers_are_bounded_and_forgotten(ahead: Ahead, server: Warm) -> None:
    """Old offers go, and all of them when another server takes over."""
    first, *rest = [ahead.offer(at("x"), await answer(ahead, "x"))[0] for _ in range(OFFERS + 1)]
    ahead.told(first.key, "shown")
    assert server.told == []
    ahead.forget()
    ahead.told(rest[-1].key, "shown")
    assert server.told == []


async def test_rest_is_warmed_once_a_line(ahead: Ahead, server: Warm) -> None:
    """Where the cursor rests the server reads ahead, once for a line; moving on before that stops it."""
    for prefix in ("a\nb", "a\nbc", "a\nb\n"):
        ahead.rests(URI, lambda: at("never"))
        ahead.rests(URI, partial(at, prefix))
        await asyncio.sleep(0.03)
    ahead.rests(URI, lambda: at("z"))
    ahead.stop()
    await asyncio.sleep(0.03)
    assert server.warmed == ["a\nb", "a\nb\n"]


async def test_nothing_to_warm(ahead: Ahead, server: Warm) -> None:
    """Not when switched off, not what must not be seen, not without a server, not beside a completion."""
    ahead.prewarm = False
    ahead.rests(URI, lambda: at("x"))
    await asyncio.sleep(0.02)
    ahead.prewarm = True
    ahead.rests(URI, lambda: None)
    await asyncio.sleep(0.02)
    server.script = ()
    waiting = asyncio.create_task(answer(ahead, "x"))
    await asyncio.sleep(0)
    ahead.rests(URI, lambda: at("x"))
    await asyncio.sleep(0.02)
    ahead._completer.changed("file:///a.py")
    await waiting
    server.reason = "offline"
    ahead.rests(URI, lambda: at("x"))
    await asyncio.sleep(0.02)
    assert server.warmed == []
    await ahead._completer.close()


async def test_offers_are_bounded_by_size(
    ahead: Ahead, server: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of big documents fewer offers are kept, the newest ones, and what is gone makes room."""
    monkeypatch.setattr(module, "OFFERS_BYTES", 30_000)
    keys = [
        ahead.offer(at(f"{i}" + "x" * 9_000), await answer(ahead, f"{i}" + "x" * 9_000))[0].key
        for i in range(5)
    ]
    for key in keys:
        ahead.told(key, "shown")
    assert len(server.told) == 3
    ahead.told(keys[-1], "accepted")
    ahead.closed(URI)
    server.told.clear()
    more = [ahead.offer(at("x" * 9_000), await answer(ahead, "x" * 9_000))[0].key for _ in range(3)]
    for key in more:
        ahead.told(key, "shown")
    assert len(server.told) == 3


async def test_what_is_counted_of_an_offer_is_taken_off(
    ahead: Ahead, server: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the text takes more memory by then: CPython keeps what it was encoded to."""
    monkeypatch.setattr(module, "OFFERS_BYTES", 10_000)
    text = "é" * 4_000
    [offer] = ahead.offer(at(text), await answer(ahead, text))
    before = sys.getsizeof(offer.snapshot.prefix)
    orjson.dumps(offer.snapshot.prefix)
    assert sys.getsizeof(offer.snapshot.prefix) > before
    ahead.told(offer.key, "accepted")
    keys = [ahead.offer(at(f"{i}{text}"), await answer(ahead, f"{i}{text}"))[0].key for i in range(4)]
    server.told.clear()
    for key in keys:
        ahead.told(key, "shown")
    assert len(server.told) == 2


async def test_the_offers_of_a_closed_document_go(ahead: Ahead, server: Warm) -> None:
    """Nothing is kept of a document that is closed; another one's offers stay."""
    [first] = ahead.offer(at("x"), await answer(ahead, "x"))
    other = at("x", uri="file:///b.py")
    [second] = ahead.offer(other, await ahead._completer.complete(other))
    ahead.closed(URI)
    ahead.told(first.key, "shown")
    assert server.told == []
    ahead.told(second.key, "shown")
    assert len(server.told) == 1
