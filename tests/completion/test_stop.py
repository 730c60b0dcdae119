from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve.completion.block import MAX_LINES
from codeserve.completion.stop import resolve_mode, stop_rule

from .samples import any_text

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("stop.toml").read_text("utf-8"))["case"]
BITS = ["\n", "    ", "\t", "x", "end", "}", "{", ")", "(", "if a:", "</ul>"]


def kept(case: dict[str, Any], output: str, step: int) -> tuple[str, bool]:
    """What belongs to the completion when the output comes in pieces of ``step`` characters."""
    prefix, suffix = case["document"].split("‸")
    rule = stop_rule(case["mode"], prefix, suffix, case["language"])
    end = rule.scan("")
    for length in range(step, len(output) + step, step):
        end = rule.scan(output[:length])
        if rule.stopped:
            break
    return output[:end].rstrip(), rule.stopped


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_where_a_completion_ends(case: dict[str, Any]) -> None:
    """Each case of stop.toml, whether the output comes at once or by the character."""
    prefix, suffix = case["document"].split("‸")
    assert resolve_mode(case.get("asked", "auto"), prefix, suffix, case["language"]) == case["mode"]
    for step in (len(case["output"]), 5, 1):
        assert kept(case, case["output"], step) == (case["kept"], True)


@given(
    st.sampled_from(CASES),
    st.lists(st.sampled_from(BITS), max_size=30),
    st.integers(1, 7),
)
def test_pieces_do_not_matter(case: dict[str, Any], output: list[str], step: int) -> None:
    """However the output is cut into pieces, the same of it belongs to the completion."""
    text = "".join(output)
    assert kept(case, text, step) == kept(case, text, max(len(text), 1))


@given(any_text, any_text, any_text, st.sampled_from(["line", "block"]))
def test_any_text_has_an_end(prefix: str, suffix: str, output: str, mode: str) -> None:
    """No text breaks a rule; its answer lies within the text."""
    rule = stop_rule(mode, prefix, suffix, "python")
    assert 0 <= rule.scan(output) <= len(output)


def test_a_block_has_a_maximum_of_lines() -> None:
    """A block without end is cut after its last line that is allowed."""
    rule = stop_rule("block", "def f():\n    ", "", "python")
    output = "".join(f"x{n} = {n}\n    " for n in range(MAX_LINES + 10))
    assert output[: rule.scan(output)].count("\n") == MAX_LINES - 1
    assert rule.stopped


@pytest.mark.parametrize(("prefix", "suffix"), [("", "import os\n"), ("def f():\n    ", "return x\n")])
def test_a_line_in_front_of_another_is_held_back(prefix: str, suffix: str) -> None:
    """Until it is ended nothing of it belongs: cut anywhere else, the other would become part of it."""
    rule = stop_rule("line", prefix, suffix, "python")
    assert (rule.scan("# the terms"), rule.stopped) == (0, False)
    assert rule.scan("self.", ended=True) == len("self.")


def test_a_line_that_may_close_the_block_is_held_back() -> None:
    """While "en" may become "end", or an identifier, nothing of it belongs; "end" does."""
    rule = stop_rule("block", "def f", "\n", "ruby")
    body = "\n  x\n"
    assert [rule.scan(body + text) for text in ("", "e", "en", "end")] == [4, 4, 4, len(body) + 3]


@pytest.mark.parametrize(
    ("prefix", "suffix", "language", "mode"),
    [
        ("", "", "python", "block"),
        ("x", "", "python", "line"),
        ("   ", "\nx", "python", "block"),
        ("   ", " x\n", "python", "line"),
        ("if x: ", "  \n", "python", "block"),
        ("if x:", "\n", "javascript", "line"),
        ("f(", ")\n", "javascript", "line"),
        ("f(", "", "javascript", "block"),
        ("a = [", "\n]", "", "block"),
    ],
)
def test_auto(prefix: str, suffix: str, language: str, mode: str) -> None:
    """A block on a blank line or behind an opener with nothing after the cursor; else a line."""
    assert resolve_mode("auto", prefix, suffix, language) == mode
