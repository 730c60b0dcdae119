from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve.completion.cut import anchor, cut_prefix, cut_suffix, pieces, split_lines
from codeserve.protocol import MAX_PREFIX_CHARS, MAX_SUFFIX_CHARS

from .samples import any_text, document

limits = st.integers(1, 120)


def halves(text: str, position: int) -> bool:
    """Whether a cut at ``position`` parts a line end or a surrogate pair."""
    before, after = text[position - 1 : position], text[position : position + 1]
    pair = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
    return (before == "\r" and after == "\n") or pair


@given(any_text, limits)
def test_prefix_is_a_tail_within_the_limit(text: str, limit: int) -> None:
    """What is kept is a suffix of the input, within the limit, and parts no line end or surrogate pair."""
    kept = cut_prefix(text, limit)
    assert text.endswith(kept)
    assert len(kept) <= limit
    assert not kept or not halves(text, len(text) - len(kept))
    assert kept == text or limit < len(text)


@given(any_text, limits)
def test_suffix_is_a_head_within_the_limit(text: str, limit: int) -> None:
    """What is kept is a prefix of the input, within the limit, and parts no line end or surrogate pair."""
    kept = cut_suffix(text, limit)
    assert text.startswith(kept)
    assert len(kept) <= limit
    assert not kept or not halves(text, len(kept))


@given(any_text, limits)
def test_cutting_again_changes_nothing(text: str, limit: int) -> None:
    """A server that cuts what its client cut keeps all of it."""
    assert cut_prefix(cut_prefix(text, limit), limit) == cut_prefix(text, limit)
    assert cut_suffix(cut_suffix(text, limit), limit) == cut_suffix(text, limit)


@given(st.text("ab \n", min_size=40, max_size=400), st.integers(8, 40))
def test_keeps_at_least_three_quarters_of_the_limit(text: str, limit: int) -> None:
    """Little context is lost to the search for a stable start."""
    if len(text) > limit:
        # a line end may be all there is between two starts
        assert len(cut_prefix(text, limit)) >= 3 * limit // 4 - 1


@given(any_text, any_text)
def test_depends_on_the_tail_alone(above: str, other: str) -> None:
    """Text above the line in which the last `limit` characters begin does not matter."""
    tail = document(40)
    assert cut_prefix(above + "\n" + tail, 600) == cut_prefix(other + "\n" + tail, 600)


def test_typing_rarely_moves_the_start() -> None:
    """2,000 characters typed at the end move the start a few times only, by many lines at once."""
    text = document(4000)
    begin = len(text) - 30_000
    starts = {end - len(cut_prefix(text[:end], 16_384)) for end in range(begin, begin + 2000)}
    assert len(starts) <= 5


def test_an_edit_far_above_does_not_move_the_start() -> None:
    """Text put in at the top of the document leaves what is kept as it was."""
    text = document(4000)
    assert cut_prefix("import os\n" + text, 16_384) == cut_prefix(text, 16_384)


def test_starts_at_a_distinctive_line_that_is_not_indented() -> None:
    """Among the candidates, a line like `def …` wins over bodies and blank lines."""
    assert cut_prefix(document(4000), 16_384).startswith("def ")


def test_one_long_line_is_cut_at_steps() -> None:
    """A long line without a break is cut in steps of 1,024 characters, counted from its start."""
    line = "x" * 17 + "\n" + "".join(f"{n:x}," for n in range(60_000))
    starts = {len(line) - n - len(cut_prefix(line[: len(line) - n], 16_384)) for n in range(2000)}
    assert len(starts) <= 6
    assert all((start - 18) % 1024 == 0 for start in starts)


def test_line_ends_do_not_matter_to_the_choice() -> None:
    """The same lines are kept of a document with CRLF, CR or LF, where the candidates are the same."""
    text = document(4000)
    first = cut_prefix(text, 16_384).partition("\n")[0]
    assert first in cut_prefix(text.replace("\n", "\r"), 16_384)
    assert not cut_prefix(text.replace("\n", "\r\n"), 16_384).startswith("\n")


@pytest.mark.parametrize("text", ["", "a", "x" * MAX_SUFFIX_CHARS])
def test_what_fits_is_kept_whole(text: str) -> None:
    """A text within the limit is not touched."""
    assert cut_prefix(text) == text
    assert cut_suffix(text) == text


def test_megabytes_are_cut_to_the_limits_of_the_wire() -> None:
    """The defaults are what a request may carry."""
    text = document(200) * 400
    assert 3 * MAX_PREFIX_CHARS // 4 <= len(cut_prefix(text)) <= MAX_PREFIX_CHARS
    assert 3 * MAX_SUFFIX_CHARS // 4 <= len(cut_suffix(text)) <= MAX_SUFFIX_CHARS
    assert cut_suffix(text).endswith("\n")


def test_a_limit_of_nothing_keeps_nothing() -> None:
    """A limit of zero gives an empty text, not an error."""
    assert cut_prefix("abc", 0) == cut_suffix("abc", 0) == ""


@given(any_text, st.integers(1, 20))
def test_pieces_put_together_are_the_text(text: str, size: int) -> None:
    """Lines and pseudo-lines neither lose nor add a character, and are no longer than asked for."""
    backward = list(pieces(reversed(split_lines(text)), size))
    assert "".join(piece for piece, _ in reversed(backward)) == text
    assert all(len(piece) <= size + 3 for piece, _ in backward)


def test_anchor_says_how_much_fits() -> None:
    """None when all fits, 0 when not even the last piece does, else a number of pieces."""
    backward = [("last line here\n", True), ("first line here\n", True)]
    assert anchor(backward, 31, len) is None
    assert anchor(backward, 30, len) == 1
    assert anchor(backward, 14, len) == 0
