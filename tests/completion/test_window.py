from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve.completion.tokens import Tokenizer
from codeserve.completion.window import Budget, encode_head, encode_tail, encode_whole
from codeserve.errors import ConfigError

from .samples import byte_level, document, sentencepiece, utf8_text

SMALL = [Tokenizer(sentencepiece("<s>")), Tokenizer(byte_level("<s>"))]
tokenizers = st.sampled_from(SMALL)
texts = utf8_text.map(lambda text: text.replace("\r", "\n"))


@given(tokenizers, texts, st.integers(0, 80), st.booleans())
def test_never_over_the_limit(tokenizer: Tokenizer, text: str, limit: int, leading: bool) -> None:
    """A window has at most as many tokens as it may, whatever the text and the tokenizer."""
    assert len(encode_tail(tokenizer, text, limit, leading=leading)) <= limit
    assert len(encode_head(tokenizer, text, limit)) <= limit
    whole = encode_whole(tokenizer, text, limit, leading=leading)
    assert whole is None or len(whole) <= limit


@given(tokenizers, texts)
def test_what_fits_is_encoded_exactly(tokenizer: Tokenizer, text: str) -> None:
    """With room to spare, the ids are those of the text as a whole."""
    assert encode_tail(tokenizer, text, 10_000) == tokenizer.encode(text)
    assert encode_head(tokenizer, text, 10_000) == tokenizer.encode_infilling(text)
    assert encode_whole(tokenizer, text, 10_000, leading=True) == tokenizer.encode(text)


def test_the_tail_starts_at_a_line_and_ends_at_the_cursor(tokenizer: Tokenizer) -> None:
    """What is kept is the end of the text from the start of a distinctive line."""
    text = document(500) + "    partial_line = va"
    kept = tokenizer.decode(encode_tail(tokenizer, text, 700))
    assert text.endswith("\n" + kept)
    assert kept.startswith("def ")


def test_typing_keeps_the_start_of_the_tail(tokenizer: Tokenizer) -> None:
    """While 2,000 characters are typed, a tail of 2,800 tokens moves its start a few times only."""
    text = document(1500)
    begin = len(text) - 5000
    starts = {tuple(encode_tail(tokenizer, text[:end], 2800)[:60]) for end in range(begin, begin + 2000, 5)}
    assert len(starts) <= 6


def test_the_head_does_not_end_within_a_line_if_it_need_not(tokenizer: Tokenizer) -> None:
    """Where whole lines fill most of the room, the head ends with one."""
    text = document(500)
    kept = tokenizer.decode_infilling(encode_head(tokenizer, text, 700))
    assert text.startswith(kept)
    assert kept.endswith("\n")


@pytest.mark.parametrize("text", ["1234, " * 40_000, "😀" * 50_000, "\n" * 60_000, "x" * 60_000])
@pytest.mark.parametrize("limit", [100, 2800])
def test_hardly_any_room_is_lost_to_a_hard_text(tokenizer: Tokenizer, text: str, limit: int) -> None:
    """One endless line, tokens of a byte each, or blank lines only still fill the window."""
    assert 0.6 * limit <= len(encode_tail(tokenizer, text, limit)) <= limit
    assert 0.6 * limit <= len(encode_head(tokenizer, text, limit)) <= limit


def test_snippets_that_do_not_fit_are_refused(tokenizer: Tokenizer) -> None:
    """A text is encoded whole or not at all."""
    text = document(50)
    ids = tokenizer.encode_infilling(text)
    assert encode_whole(tokenizer, text, len(ids), leading=False) == ids
    assert encode_whole(tokenizer, text, len(ids) - 1, leading=False) is None


def test_budget_shares_out_the_context() -> None:
    """A quarter at most for the suffix and for snippets, the rest for the prefix, in steps."""
    budget = Budget.of(4096, 128, 4)
    assert budget == Budget(room=3964, quarter=991, snippets=991)
    assert [Budget.of(4096, 128, 4, most).snippets for most in (0, 200, 5_000)] == [0, 200, 991]
    assert budget.prefix(0, 0) == 3964
    assert budget.prefix(991, 991) == 3964 - 2 * 991
    assert budget.prefix(500, 0) == budget.prefix(510, 0)
    assert budget.prefix(500, 0) <= 3964 - 510


@pytest.mark.parametrize(("context", "output"), [(128, 128), (0, 0), (256, 200)])
def test_a_context_without_room_is_refused(context: int, output: int) -> None:
    """The message names the settings to change."""
    with pytest.raises(ConfigError, match="raise context_tokens or lower max_output_tokens"):
        Budget.of(context, output, 4)
