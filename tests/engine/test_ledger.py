"""Counting what the engine does for each request."""

from __future__ import annotations

import pytest

from codeserve.engine.compat import StepOutput
from codeserve.engine.ledger import Ledger


def step(drafted: int = 0, **tokens: int) -> StepOutput:
    return StepOutput(tuple((f"{id}-12345678", count) for id, count in tokens.items()), drafted)


def test_tokens_after_the_end() -> None:
    """Only tokens for requests that have ended here count as generated after the end."""
    ledger = Ledger()
    ledger.begin("a")
    ledger.begin("b")
    ledger.observe(step(a=1, b=1))
    assert ledger.tokens_after_end == 0
    ledger.end("a")
    ledger.observe(step(a=1, b=1))
    ledger.observe(step(a=4))
    assert ledger.tokens_after_end == 5


def test_one_request_is_exact() -> None:
    """With one request a step's drafts are its own; the prompt's step has none."""
    ledger = Ledger()
    tally = ledger.begin("a")
    for one in (step(a=1), step(4, a=3), step(4, a=1), step(a=1)):
        ledger.observe(one)
    assert (tally.drafted, tally.accepted) == (8, 2)


def test_several_requests_add_up() -> None:
    """Among several the sum is right and nobody accepted more than was drafted for it."""
    ledger = Ledger()
    a, b = ledger.begin("a"), ledger.begin("b")
    ledger.observe(step(a=1, b=1))
    ledger.observe(step(7, a=4, b=1))
    assert (a.accepted, b.accepted) == (3, 0)
    assert a.drafted + b.drafted == 7
    assert a.drafted >= a.accepted


def test_empty_outputs() -> None:
    """An output without tokens is no step of a request."""
    ledger = Ledger()
    tally = ledger.begin("a")
    ledger.observe(step(a=0))
    ledger.observe(step(a=1))
    ledger.observe(step(3, a=2))
    assert (tally.drafted, tally.accepted) == (3, 1)


def test_ids_in_use() -> None:
    """An id is live once at a time."""
    ledger = Ledger()
    ledger.begin("a")
    assert "a" in ledger
    with pytest.raises(ValueError, match="in use"):
        ledger.begin("a")
    ledger.end("a")
    ledger.end("a")
    assert "a" not in ledger
