"""Counting what the engine does for each request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve.engine.compat import StepOutput
from codeserve.engine.ledger import Ledger, Tally


def step(drafted: int = 0, **counts: int) -> StepOutput:
    """One step; the engine's own ids have a suffix."""
    return StepOutput(tuple((f"{name}-0123abcd", count) for name, count in counts.items()), drafted)


def test_life_of_a_request() -> None:
    """A request is live from its beginning to its end."""
    ledger = Ledger()
    assert "a" not in ledger
    assert ledger.begin("a") == Tally(0, 0, 0)
    assert "a" in ledger
    ledger.end("a")
    assert "a" not in ledger


def test_id_in_use() -> None:
    """A second request with the id of a live one is refused, and the first goes on."""
    ledger = Ledger()
    ledger.begin("a")
    with pytest.raises(ValueError, match="'a' is in use"):
        ledger.begin("a")
    assert "a" in ledger


def test_ending_what_is_unknown() -> None:
    """An unknown id ends without a word, and so does one that has ended."""
    ledger = Ledger()
    ledger.begin("a")
    ledger.end("b")
    ledger.end("a")
    ledger.end("a")
    assert "a" not in ledger


def test_tokens_after_the_end() -> None:
    """Tokens for requests that have ended, or never were, are counted together."""
    ledger = Ledger()
    ledger.begin("a")
    ledger.observe(step(a=1, b=2))
    assert ledger.tokens_after_end == 2
    ledger.end("a")
    ledger.observe(step(a=3))
    assert ledger.tokens_after_end == 5


def test_id_with_dashes() -> None:
    """Only the engine's own suffix is taken off an id."""
    ledger = Ledger()
    tally = ledger.begin("a-b-c")
    ledger.observe(StepOutput((("a-b-c-0123abcd", 1),), 0))
    assert (tally.steps, ledger.tokens_after_end) == (1, 0)


def test_without_speculation() -> None:
    """A token a step means that nothing was drafted."""
    ledger = Ledger()
    tally = ledger.begin("a")
    for _ in range(4):
        ledger.observe(step(a=1))
    assert tally == Tally(steps=4, drafted=0, accepted=0)


def test_step_without_tokens() -> None:
    """A step that brought a request nothing, such as a part of its prompt, is none of its steps."""
    ledger = Ledger()
    tally = ledger.begin("a")
    ledger.observe(step(a=0))
    ledger.observe(step(a=1))
    ledger.observe(step(a=0))
    assert tally == Tally(steps=1, drafted=0, accepted=0)


def test_drafts_of_one_request() -> None:
    """With one request in a step its drafts are exact."""
    ledger = Ledger()
    tally = ledger.begin("a")
    ledger.observe(step(a=1))
    ledger.observe(step(4, a=3))
    assert tally == Tally(steps=2, drafted=4, accepted=2)
    ledger.observe(step(4, a=1))
    assert tally == Tally(steps=3, drafted=8, accepted=2)


def test_prompt_step_has_no_drafts() -> None:
    """A request in its first step has no share in what others had drafted."""
    ledger = Ledger()
    old = ledger.begin("old")
    ledger.observe(step(old=1))
    new = ledger.begin("new")
    ledger.observe(step(4, new=1, old=2))
    assert old == Tally(steps=2, drafted=4, accepted=1)
    assert new == Tally(steps=1, drafted=0, accepted=0)


def test_drafts_are_shared_out() -> None:
    """Among several the accepted are each one's own, and the rejected are shared out."""
    ledger = Ledger()
    a, b = ledger.begin("a"), ledger.begin("b")
    ledger.observe(step(a=1, b=1))
    ledger.observe(step(8, a=4, b=1))
    assert (a.accepted, b.accepted) == (3, 0)
    assert a.drafted + b.drafted == 8
    assert abs((a.drafted - a.accepted) - (b.drafted - b.accepted)) <= 1


def test_ended_request_takes_its_share() -> None:
    """What was drafted for a request that has ended is not laid to the others."""
    ledger = Ledger()
    a = ledger.begin("a")
    ledger.begin("b")
    ledger.observe(step(a=1, b=1))
    ledger.end("b")
    ledger.observe(step(8, a=1, b=1))
    assert a == Tally(steps=2, drafted=4, accepted=0)


@given(
    st.lists(st.tuples(st.lists(st.integers(1, 5), min_size=3, max_size=3), st.integers(0, 20)), max_size=20)
)
def test_sums_are_right(steps: list[tuple[list[int], int]]) -> None:
    """Over all requests the sums are exact, whatever the shares."""
    ledger = Ledger()
    tallies = [ledger.begin(name) for name in "abc"]
    ledger.observe(step(a=1, b=1, c=1))
    drafted = 0
    for counts, rejected in steps:
        accepted = sum(counts) - 3
        drafted += accepted + rejected
        ledger.observe(step(accepted + rejected, **dict(zip("abc", counts, strict=True))))
    assert sum(tally.drafted for tally in tallies) == drafted
    assert all(0 <= tally.accepted <= tally.drafted for tally in tallies)
