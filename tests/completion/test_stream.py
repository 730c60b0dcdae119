from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import CompletionInput, Prompt, PromptBuilder
from codeserve.completion.stream import CompletionStream
from codeserve.completion.tokens import Tokenizer
from codeserve.protocol import Mode

from .conftest import MODEL
from .samples import SENTINELS, document, utf8_text

REAL = Tokenizer.load(MODEL)
BUILDER = PromptBuilder(REAL, fim_format("codellama-spm", REAL))
EOT, NEWLINE = 32010, 13

prompts = st.builds(
    lambda prefix, suffix, mode: BUILDER.build(CompletionInput(prefix, suffix, "a.py", mode=mode)),
    st.sampled_from(
        [
            "",
            "def f(x):",
            "def f(x):\n    ",
            "def f(x):\n    if x:\n",
            "x = foo(",
            "import os\n",
            'print("',
            "class A {",
        ]
    ),
    st.sampled_from(["", "\n", ")\n", '")\n    return x\n', "\n}\n", "\n    return x\n"]),
    st.sampled_from(["auto", "line", "block"]),
)
lines = st.builds(
    lambda spaces, code: " " * spaces + code + "\n",
    st.sampled_from([0, 4, 8, 12]),
    st.sampled_from(["x = 1", "if x:", "else:", "def f():", "@p", ")", "", "f(", "<EOT>", "```", "return x"]),
)
outputs = st.one_of(
    st.builds(
        lambda parts, ends: [*REAL.encode_infilling("".join(parts)), *([EOT] if ends else [])],
        st.lists(lines, max_size=9),
        st.booleans(),
    ),
    utf8_text.map(REAL.encode_infilling),
    st.lists(st.sampled_from(["\n", "    ", "x", "return x", ")", "}", '"', "if a:"]), max_size=20).map(
        lambda parts: REAL.encode_infilling("".join(parts))
    ),
    st.lists(st.integers(0, 32_015), max_size=60),
)


def build(document: str, mode: Mode = "auto", language: str = "python") -> Prompt:
    prefix, suffix = document.split("‸")
    return BUILDER.build(CompletionInput(prefix, suffix, language=language, mode=mode))


def run(prompt: Prompt, ids: list[int], step: int = 1) -> tuple[str, CompletionStream]:
    """Feed ids until the stream has stopped; the deltas put together, and the stream."""
    stream = CompletionStream(REAL, prompt)
    deltas = ""
    for start in range(0, len(ids), step):
        deltas += stream.feed(ids[start : start + step])
        if stream.stopped:
            break
    return deltas, stream


@given(prompts, outputs, st.integers(1, 9), st.booleans())
def test_the_result_is_a_prefix_of_what_was_streamed(
    prompt: Prompt, ids: list[int], step: int, deadline: bool
) -> None:
    """Whatever comes out of the engine, in whatever portions, the deltas begin with the final text."""
    deltas, stream = run(prompt, ids, step)
    final = stream.finish(deadline=deadline)
    assert deltas.startswith(final)
    assert not final or final.strip()
    assert "\r" not in deltas


@given(prompts, outputs, st.integers(2, 9), st.booleans())
def test_portions_do_not_matter(prompt: Prompt, ids: list[int], step: int, deadline: bool) -> None:
    """Merged chunks give the same result as one token at a time."""
    assert run(prompt, ids, step)[1].finish(deadline=deadline) == run(prompt, ids)[1].finish(
        deadline=deadline
    )


@given(
    prompts, st.lists(st.one_of(st.sampled_from([1, 2, *range(32_000, 32_016)]), st.integers(300, 20_000)))
)
def test_the_result_never_has_a_sentinel(prompt: Prompt, ids: list[int]) -> None:
    """Ids of sentinels in the output leave no text."""
    deltas, stream = run(prompt, ids)
    for sentinel in SENTINELS:
        assert sentinel not in deltas
        assert sentinel not in stream.finish()


def test_lines_behind_a_block_are_sent_at_the_end() -> None:
    """Of the first block it is told that its line has ended; what is behind it comes with the model's end."""
    prompt = build("def f(x):\n    if x:\n‸\n", "block")
    ids = REAL.encode_infilling("        y()\n    z()")
    deltas, stream = run(prompt, ids)
    assert (deltas, stream.stopped) == ("        y()\n", False)
    assert stream.finish(deadline=True) == "        y()"
    assert run(prompt, [*ids, EOT])[0] == "        y()\n    z()"


def test_a_sentinel_in_letters_is_an_end() -> None:
    """Lines behind a block count where a sentinel that the model spells out ends the text."""
    prompt = build("def f(x):\n    if x:\n‸\n", "block")
    output = "        y()\n    z()\n<EOT>"
    assert run(prompt, REAL.encode_infilling(output))[1].finish() == "        y()\n    z()"


def test_the_spaces_of_the_first_token_are_kept() -> None:
    """Output is decoded as a continuation: its leading space is text, and none is added."""
    assert run(build("x =‸\n"), [*REAL.encode_infilling(" 1"), EOT])[1].finish() == " 1"
    assert run(build("x = ‸\n"), [*REAL.encode_infilling("1"), EOT])[1].finish() == "1"


def test_golden_decode() -> None:
    """The ids of CodeLlama's answer to the golden prompt are text without loss."""
    ids = [7275, 272, 1661, 29899, 28599, 2687, 4890, 515, 263, 1347, 29889, 9995]
    text = REAL.decode_infilling(ids)
    assert REAL.encode_infilling(text) == ids
    prompt = build('def remove_non_ascii(s: str) -> str:\n    """ ‸\n    return result\n')
    # the prompt ends with the space that the first token brings along
    assert run(prompt, [*ids, EOT])[1].finish() == text.removeprefix(" ")


def test_stops_at_a_stop_token() -> None:
    """What an engine sends behind the end of the middle is not looked at."""
    prompt = build("x = ‸\n")
    stream = CompletionStream(REAL, prompt)
    assert stream.feed([*REAL.encode_infilling("1"), EOT, *REAL.encode_infilling("2")]) == "1"
    assert stream.stopped
    assert stream.feed(REAL.encode_infilling("3")) == ""
    assert stream.finish() == "1"


def test_the_newline_as_a_stop_token_makes_the_line_whole() -> None:
    """Within a line the newline may be a stop token: the line counts even at the deadline."""
    prompt = build("f(‸)\n")
    assert prompt.stop_token_ids[-1] == NEWLINE
    _, stream = run(prompt, [*REAL.encode_infilling("a, b"), NEWLINE])
    assert stream.stopped
    assert stream.finish(deadline=True) == "a, b"


def test_white_space_waits_for_what_follows() -> None:
    """Newlines and indentation come out with the first character behind them."""
    stream = CompletionStream(REAL, build("def f(x):‸\n"))
    assert stream.feed(REAL.encode_infilling("\n    ")) == ""
    assert stream.feed(REAL.encode_infilling("return")) == "\n    return"
    assert stream.feed(REAL.encode_infilling(" x")) == " x"
    assert not stream.stopped
    assert stream.feed(REAL.encode_infilling("\n\nx")) == ""
    assert stream.stopped
    assert stream.finish() == "\n    return x"


def test_a_line_is_written_on_the_blank_line_of_the_cursor() -> None:
    """Asked for one line on a blank one, a blank line in front is not given; asked for a block, it is."""
    output = [*REAL.encode_infilling("\n    return x"), EOT]
    cases: list[tuple[Mode, str]] = [("line", "    return x"), ("block", "\n    return x")]
    for mode, expected in cases:
        deltas, stream = run(build("def f(x):\n    x += 1\n‸\n", mode), output)
        assert stream.finish() == deltas == expected


def test_half_a_character_is_never_sent() -> None:
    """The bytes of an emoji wait for the last one; those left over at the end are dropped."""
    ids = REAL.encode_infilling("'🦀🦀")
    stream = CompletionStream(REAL, build("x = ‸\n"))
    deltas = [stream.feed([id]) for id in ids[:-1]]
    assert "".join(deltas) == "'🦀"
    assert stream.finish() == "'🦀"


@pytest.mark.parametrize(
    ("document", "output", "expected"),
    [
        ("def f(x):‸\n", "\n    y = x\n    return", "\n    y = x"),
        ("def f(x):‸\n", "\n    y = x\n", "\n    y = x"),
        ("def f(x):‸\n", "\n    y = x", ""),
        ("x = ‸\n", "foo(", ""),
        ("x = ‸\n", "foo()\n", "foo()"),
        ("x = ‸\n", "", ""),
    ],
)
def test_at_the_deadline_only_whole_lines_count(document: str, output: str, expected: str) -> None:
    """The line that the model was writing when time was up is left out."""
    assert run(build(document), REAL.encode_infilling(output))[1].finish(deadline=True) == expected


def test_at_the_deadline_an_ended_completion_is_whole() -> None:
    """A completion that was over before the deadline keeps its last line."""
    ids = [*REAL.encode_infilling("\n    return x"), EOT]
    assert run(build("def f(x):‸\n"), ids)[1].finish(deadline=True) == "\n    return x"


def test_a_block_that_used_up_its_budget_ends_with_a_whole_line() -> None:
    """The line that the output budget broke off is left out of a block, unless it is the only one."""
    builder = PromptBuilder(REAL, fim_format("codellama-spm", REAL), max_output_tokens=8)
    prompt = builder.build(CompletionInput("def f(x):", "\n", language="python"))
    long, short = (
        REAL.encode_infilling(text)[:8] for text in ("\n    y = 1\n    z = 2", "\n    yyyy = 1 + 2 + 3 + 4")
    )
    assert run(prompt, long)[1].finish() == "\n    y = 1"
    assert run(prompt, short)[1].finish() == REAL.decode_infilling(short).rstrip()


@given(st.lists(st.sampled_from(["\r\n", "\n", "\r", "x", "    y"]), max_size=12))
def test_line_ends_come_out_as_newlines(parts: list[str]) -> None:
    """A model that writes CRLF or CR is read as if it had written newlines, also across tokens."""
    prompt = build("def f():\n‸", "block")
    output = "x = 1" + "".join(parts)
    plain = output.replace("\r\n", "\n").replace("\r", "\n")
    expected = run(prompt, REAL.encode_infilling(plain))[1].finish()
    assert run(prompt, REAL.encode_infilling(output))[1].finish() == expected


def test_nothing_fed_is_no_suggestion() -> None:
    """A stream that got no token, or only the end, gives an empty text."""
    assert CompletionStream(REAL, build("‸")).finish() == ""
    assert run(build("‸"), [EOT])[1].finish(deadline=True) == ""


def test_a_document_completes_itself() -> None:
    """Fed the rest of a real function, the stream gives exactly its body."""
    text = document(80)
    start = text.index("def ", 400)
    head, body = text[start:].split("\n", 1)
    expected = "\n" + body.partition("\n\n")[0]
    ids = REAL.encode_infilling("\n" + body)
    prompt = BUILDER.build(CompletionInput(text[:start] + head, "\n", language="python"))
    deltas, stream = run(prompt, ids)
    assert stream.stopped
    assert stream.finish() == deltas == expected
