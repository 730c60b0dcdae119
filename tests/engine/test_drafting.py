"""Speculation that is turned off while it costs more than it brings."""

from __future__ import annotations

from typing import Any

from codeserve.engine.drafting import DraftSchedule, install

LOOKUP = [0, 4, 4, 2, 0]  # by batch size


def steps(schedule: DraftSchedule, count: int, accepted: int) -> list[int]:
    """What is drafted in each of so many steps with one sequence, when so many tokens are accepted."""
    found = []
    for _ in range(count):
        drafted = schedule[1]
        found.append(drafted)
        if drafted:
            schedule.observe(accepted)
    return found


def test_load() -> None:
    """The number of drafts goes by the batch size, down to none."""
    schedule = DraftSchedule(LOOKUP, 0.3)
    assert [schedule[batch] for batch in (1, 2, 3, 4)] == [4, 4, 2, 0]


def test_good_drafts_go_on() -> None:
    """While enough is accepted nothing is turned off."""
    assert steps(DraftSchedule(LOOKUP, 0.3), 2000, accepted=1) == [4] * 2000


def test_bad_drafts_are_turned_off_and_tried_again() -> None:
    """When too little is accepted drafting pauses, and a short trial shows whether it still is so."""
    schedule = DraftSchedule(LOOKUP, 0.3)
    found = steps(schedule, 3000, accepted=0)
    assert found[:50] == [4] * 50
    assert found[50:550] == [0] * 500
    assert found[550:600] == [4] * 50
    assert found.count(4) < 0.15 * len(found)


def test_trial_that_succeeds() -> None:
    """After a trial that is accepted drafting goes on."""
    schedule = DraftSchedule(LOOKUP, 0.3)
    steps(schedule, 550, accepted=0)
    assert not schedule.paused
    assert steps(schedule, 500, accepted=2) == [4] * 500


def test_a_few_failures_do_not_count() -> None:
    """A streak without acceptance in the midst of good drafts is no reason."""
    schedule = DraftSchedule(LOOKUP, 0.3)
    steps(schedule, 500, accepted=2)
    assert steps(schedule, 20, accepted=0) == [4] * 20
    assert not schedule.paused


class Scheduler:
    """As much of vLLM's scheduler as is touched."""

    def __init__(self, lookup: list[int] | None) -> None:
        self.dynamic_sd_lookup: Any = lookup
        self.counted: list[tuple[int, int]] = []

    def make_spec_decoding_stats(
        self, so_far: object, num_draft_tokens: int, num_accepted_tokens: int, **more: object
    ) -> object:
        self.counted.append((num_draft_tokens, num_accepted_tokens))
        return so_far


def test_install() -> None:
    """A scheduler that drafts by batch size gets a schedule, which sees what is accepted; others are left."""
    kind = type("Some", (Scheduler,), {})
    install(kind, 0.3)
    one, plain = kind(LOOKUP), kind(None)
    assert isinstance(one.dynamic_sd_lookup, DraftSchedule)
    for _ in range(60):
        stats = one.make_spec_decoding_stats(
            "stats", num_draft_tokens=4, num_accepted_tokens=0, request_id="r"
        )
        assert stats == "stats"
    one.make_spec_decoding_stats("stats", num_draft_tokens=0, num_accepted_tokens=0)
    assert one.dynamic_sd_lookup.paused
    assert len(one.counted) == 61
    assert plain.dynamic_sd_lookup is None
    assert plain.make_spec_decoding_stats(None, num_draft_tokens=4, num_accepted_tokens=1) is None
