"""What prefetches cost and bring, and what the server says of its cache."""

from __future__ import annotations

import asyncio

import attrs

from codeserve.client import RequestError
from codeserve.protocol import ErrorCode, Finish, Tokens
from tests.lsp.double_server import BUDGET, DoubleServer, at, done, make


async def test_prefetch_counts_tokens_and_one_hit() -> None:
    """A prefetch that serves keystrokes is one hit; what it cost is known."""
    server = DoubleServer(done("foo"))
    completer = make(server)
    completer.ask(at("x"), prefetch=True)
    await asyncio.sleep(0.01)
    for prefix in ("x", "xf"):
        assert (await completer.complete(at(prefix))).texts
    stats = completer.stats.as_dict()
    assert (stats["prefetches"], stats["prefetchHits"], stats["prefetchTokens"]) == (1, 1, 7)
    assert stats["requests"] == 0


async def test_a_prefetch_that_is_still_being_written() -> None:
    """The lines that it has so far are a hit too, when time is up."""
    completer = make(DoubleServer("one\ntw"), budget_ms=BUDGET)
    completer.ask(at("x"), prefetch=True)
    await asyncio.sleep(0)
    for _ in range(2):
        assert (await completer.complete(at("x"))).texts == ["one"]
    assert completer.stats.prefetch_hits == 1
    await completer.close()


async def test_prefetches_that_come_to_nothing() -> None:
    """One that a newer request or a lost connection ends is counted as dropped, one without text is not."""
    server = DoubleServer(done("", Finish.SUPERSEDED))
    completer = make(server)
    completer.ask(at("a"), prefetch=True)
    server.script = (RequestError(ErrorCode.UNAVAILABLE, "lost"),)
    completer.ask(at("b"), prefetch=True)
    server.script = (done("", Finish.NO_SUGGESTION),)
    completer.ask(at("c"), prefetch=True)
    server.script = (done("", Finish.SUPERSEDED),)
    completer.ask(at("d"))
    await asyncio.sleep(0.01)
    assert completer.stats.as_dict()["prefetchesDropped"] == 2


async def test_tokens_by_kind() -> None:
    """The prompts of completions and their cached share are counted without those of prefetches."""
    server = DoubleServer(attrs.evolve(done("foo"), tokens=Tokens(prompt=100, cached=90, output=7)))
    completer = make(server)
    completer.ask(at("a"), prefetch=True)
    await completer.complete(at("b"))
    stats = completer.stats.as_dict()
    assert [stats[f"{kind}Tokens"] for kind in ("prompt", "cached", "output", "prefetch")] == [100, 90, 7, 7]
