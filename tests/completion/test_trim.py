from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve.completion.trim import trim

from .samples import any_text

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("trim.toml").read_text("utf-8"))["case"]

BITS = ["\n", "    ", "x", "foo(", ")", "}", "{", '"', "'", "]", ";", "return y", "</p>", "\\", "ab " * 8]
code = st.lists(st.sampled_from(BITS), max_size=25).map("".join)
texts = st.one_of(code, any_text)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_is_cut(case: dict[str, Any]) -> None:
    """Each case of trim.toml."""
    prefix, suffix = case["document"].split("‸")
    assert trim(case["text"], prefix, suffix, case["language"]) == case["trimmed"]


@given(
    st.one_of(code, any_text),
    st.one_of(code, any_text),
    st.one_of(code, any_text),
    st.sampled_from(["python", "c", ""]),
)
def test_only_ever_cuts_at_the_end(text: str, prefix: str, suffix: str, language: str) -> None:
    """What is left is a prefix of the text, without white space at its end where none is wanted."""
    trimmed = trim(text, prefix, suffix, language)
    assert text.startswith(trimmed)
    assert trimmed == trimmed.rstrip() or suffix[:1].strip()


@given(st.text(" \n\t"))
def test_white_space_is_no_suggestion(text: str) -> None:
    """Spaces and newlines alone come to nothing."""
    assert trim(text, "x = 1\n", "\ny\n") == ""
