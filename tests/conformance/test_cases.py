"""Each case through the whole of codeserve: the edit that the editor gets, and the text that it leads to."""

from __future__ import annotations

import pytest

from tests.conformance.case import Case, families, load
from tests.conformance.pipeline import Pipeline
from tests.conformance.positions import offset_of, position_of, replaced

ALL = [case for family in families() for case in load(family)]


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.family}: {case.name}") for case in ALL])
async def test_case(codeserve: Pipeline, case: Case) -> None:
    """The edit is the one that is right for the user, or there is none, for the right reason."""
    outcome = await codeserve.run(case)
    if case.asked is not None:
        assert outcome.asked == case.asked
    if case.prompt_suffix is not None:
        assert outcome.behind == case.prompt_suffix
    assert outcome.before.endswith(case.prompt_ends)
    if case.insert is None:
        assert (outcome.edits, outcome.reason) == ([], case.none)
        return
    assert outcome.reason == ""
    assert len(outcome.edits) == 1
    [(start, end, text)] = outcome.edits
    assert text == case.insert
    before, cursor = case.text, case.cursor
    if case.deleted:
        cursor -= case.deleted
        before = before[:cursor] + before[cursor + case.deleted :]
    if case.typed:
        before = before[:cursor] + case.typed + before[cursor:]
        cursor += len(case.typed)
    first, last = case.span if case.selected is not None else (cursor, cursor)
    if case.range is not None:
        assert [list(start), list(end)] == case.range
    if case.menu:  # the entry goes in place of the word at the cursor: the range says so
        first = offset_of(before, *start, case.encoding)
    assert start == position_of(before, first, case.encoding)
    assert end == position_of(before, last, case.encoding)
    assert replaced(before, start, end, text, case.encoding) == before[:first] + text + before[last:]
