from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import LINE_TOKENS, CompletionInput, PromptBuilder
from codeserve.completion.stream import CompletionStream
from codeserve.completion.tokens import Tokenizer
from codeserve.errors import ConfigError
from codeserve.protocol import MAX_PREFIX_CHARS, MAX_SUFFIX_CHARS

from .conftest import MODEL
from .samples import SENTINELS, any_text, byte_level, document

REAL = Tokenizer.load(MODEL)
BUILDER = PromptBuilder(REAL, fim_format("codellama-spm", REAL))
QWEN_TOKENS = (
    "<|fim_prefix|>",
    "<|fim_suffix|>",
    "<|fim_middle|>",
    "<|endoftext|>",
    "<|repo_name|>",
    "<|file_sep|>",
)
QWEN = Tokenizer(byte_level(*QWEN_TOKENS))
SMALL_BUILDERS = [
    PromptBuilder(REAL, fim_format("codellama-psm", REAL), context_tokens=160, max_output_tokens=32),
    PromptBuilder(QWEN, fim_format("qwen2.5-coder", QWEN), context_tokens=160, max_output_tokens=32),
]


snippet_lists = st.lists(st.tuples(any_text, any_text), max_size=3).map(tuple)


def parts(ids: list[int]) -> tuple[str, str]:
    """Prefix and suffix of a CodeLlama SPM prompt."""
    assert ids[:3] == [1, 32007, 32008]
    middle = ids.index(32009)
    assert all(id < 32_000 for id in ids[3:middle] + ids[middle + 1 :])
    return REAL.decode(ids[middle + 1 :]), REAL.decode_infilling(ids[3:middle])


@given(
    any_text,
    any_text,
    snippet_lists,
    st.sampled_from(SMALL_BUILDERS),
)
def test_fits_the_context(
    prefix: str, suffix: str, snippets: tuple[tuple[str, str], ...], builder: PromptBuilder
) -> None:
    """Whatever the texts, prompt and output fit into the context, and building twice gives the same."""
    input = CompletionInput(prefix, suffix, "a.py", "", snippets, "block")
    prompt = builder.build(input)
    assert len(prompt.token_ids) + prompt.max_tokens <= 160
    assert builder.build(input) == prompt


@given(any_text, any_text)
def test_has_the_text_with_newlines(prefix: str, suffix: str) -> None:
    """CRLF and CR become "\\n", lone surrogates U+FFFD; all else is kept, sentinels in the text too."""
    prompt = BUILDER.build(CompletionInput(prefix, suffix))
    assert "\r" not in prompt.prefix + prompt.suffix
    (prompt.prefix + prompt.suffix).encode()
    expected = (prompt.prefix.replace("▁", " "), prompt.suffix.replace("▁", " ") or "\n")
    assert parts(prompt.token_ids) == expected


@pytest.mark.parametrize(
    ("prefix", "suffix", "expected"),
    [
        ("a\r\nb", "c\r\nd", ("a\nb", "c\nd")),
        ("a\rb\r", "c\r", ("a\nb\n", "c\n")),
        ("a\r", "\nb", ("a", "\nb")),
        ("a\ud800", "\udc00\0", ("a\ufffd", "\ufffd\0")),
        ("\ud83d\ude00", "", ("😀", "")),
        ("", "", ("", "")),
        ("\ufeffx", "\u2028", ("\ufeffx", "\u2028")),
    ],
)
def test_odd_texts(prefix: str, suffix: str, expected: tuple[str, str]) -> None:
    """What the prompt has of line ends, of a cursor inside one, of surrogates and NUL."""
    prompt = BUILDER.build(CompletionInput(prefix, suffix))
    assert (prompt.prefix, prompt.suffix) == expected


@pytest.mark.parametrize("sentinel", SENTINELS)
def test_sentinels_in_user_code_stay_text(sentinel: str) -> None:
    """A prompt has each sentinel once, where the format puts it, in snippets' paths and texts too."""
    input = CompletionInput(f"x = '{sentinel}", f"{sentinel}'\n", sentinel, "python", ((sentinel, sentinel),))
    prefix, suffix = parts(BUILDER.build(input).token_ids)
    text = sentinel.replace("▁", " ")
    assert prefix == f"# Path: {text}\n# {text}\nx = '{text}"
    assert suffix == f"{text}'\n"


@pytest.mark.parametrize("name", ["codellama-spm", "codellama-psm"])
def test_no_suffix_is_the_end_of_the_file(name: str) -> None:
    """Without text after the cursor, the suffix is a newline; what trimming sees stays empty."""
    builder = PromptBuilder(REAL, fim_format(name, REAL))
    nothing, newline = (builder.build(CompletionInput("x", suffix)) for suffix in ("", "\n"))
    assert nothing.token_ids == newline.token_ids
    assert nothing.suffix == ""


def test_newline_is_a_stop_token_within_a_line_only() -> None:
    """With text behind the cursor the engine may stop at the newline; without, newlines may come first."""
    assert BUILDER.build(CompletionInput("f(", ")\n")).stop_token_ids[-1] == 13
    assert 13 not in BUILDER.build(CompletionInput("f", "\n")).stop_token_ids
    assert 13 not in BUILDER.build(CompletionInput("f(", ")\n", mode="block")).stop_token_ids


def test_mode_language_and_output_budget() -> None:
    """The mode is resolved, the language guessed from the path, and a line gets fewer tokens than a block."""
    block = BUILDER.build(CompletionInput("if x:", "\n", "a.py"))
    assert (block.mode, block.language, block.max_tokens) == ("block", "python", 128)
    line = BUILDER.build(CompletionInput("if x:", "\n", "a.go"))
    assert (line.mode, line.language, line.max_tokens) == ("line", "go", LINE_TOKENS)


def test_typing_extends_the_prompt() -> None:
    """Nearly all tokens of a prompt are those of the prompt before the keystroke."""
    text = document(3000)
    begin = len(text) - 3000
    changed = 0
    before = BUILDER.build(CompletionInput(text[:begin], text[-2500:])).token_ids
    for end in range(begin + 1, begin + 400):
        after = BUILDER.build(CompletionInput(text[:end], text[-2500:])).token_ids
        # A line's tokens may change as it goes on; those of the lines above do not.
        changed += after[: len(before) - 40] != before[:-40]
        before = after
    assert changed <= 3


def test_the_suffix_does_not_depend_on_the_prefix() -> None:
    """A longer prefix takes nothing from the suffix, or the KV cache behind it would be lost."""
    suffix = document(600)
    for prefix in ("x", document(40), document(4000)):
        _, kept = parts(BUILDER.build(CompletionInput(prefix, suffix)).token_ids)
        assert len(REAL.encode_infilling(kept)) <= 1024
        assert kept == parts(BUILDER.build(CompletionInput("", suffix)).token_ids)[1]


@pytest.mark.parametrize("name", ["codellama-spm", "codellama-psm", "qwen2.5-coder"])
def test_snippets_have_the_room_that_they_are_given(name: str) -> None:
    """With no tokens for them they are left out, with some those are in front that fit."""
    tokenizer = QWEN if name.startswith("qwen") else REAL
    snippets = tuple((f"m{n}.py", f"value = {n}\n") for n in range(99))
    input = CompletionInput("x = ", "\n", "a.py", "python", snippets)

    def build(most: int | None, given: CompletionInput = input) -> list[int]:
        builder = PromptBuilder(tokenizer, fim_format(name, tokenizer), snippet_tokens=most)
        assert builder.snippet_tokens == (991 if most is None else most) or name.startswith("qwen")
        return builder.build(given).token_ids

    alone = build(None, attrs.evolve(input, snippets=()))
    assert build(0) == alone
    assert len(alone) < len(build(200)) <= len(alone) + 200 < len(build(None))


def test_snippets_take_a_quarter_at_most() -> None:
    """Whole ones in the given order, up to the first that does not fit; the prefix keeps its room."""
    snippets = tuple((f"m{n}.py", document(30, seed=n)) for n in range(9))
    prefix, _ = parts(BUILDER.build(CompletionInput(document(3000), "\n", "a.py", "", snippets)).token_ids)
    count = prefix.count("# Path: m")
    head = prefix[: prefix.rindex("# Path: m")]
    assert 2 <= count < 9
    assert len(REAL.encode(head)) <= 1024
    assert len(REAL.encode(prefix)) > 2500
    small = BUILDER.build(CompletionInput("x", "\n", "a.py", "", (("big.py", document(9000)), ("s.py", "y"))))
    assert parts(small.token_ids)[0] == "x"


@pytest.mark.parametrize(
    "input",
    [
        CompletionInput("x = [" + "1234, " * 40_000, "5]\n"),
        CompletionInput(document(200) * 500, document(200) * 500),
        CompletionInput("😀" * 200_000, "é" * 200_000),
        CompletionInput("\n" * 300_000, "\r\n" * 300_000),
        CompletionInput("\0" * 100_000, "\0"),
        CompletionInput("", document(9000)),
        CompletionInput(document(9000), ""),
        CompletionInput("x", "y", snippets=(("a", "z" * 1_000_000),)),
    ],
    ids=["line of 240 kB", "megabytes", "astral", "blank lines", "NUL", "start", "end", "snippet"],
)
def test_hard_inputs(input: CompletionInput) -> None:
    """All give a prompt within the context, with the text next to the cursor in it."""
    prompt = BUILDER.build(input)
    prefix, suffix = parts(prompt.token_ids)
    assert len(prompt.token_ids) + prompt.max_tokens <= 4096
    assert len(prompt.prefix) <= MAX_PREFIX_CHARS
    assert len(prompt.suffix) <= MAX_SUFFIX_CHARS
    assert prompt.prefix.endswith(prefix)
    assert len(prefix) >= min(len(prompt.prefix), 500)
    assert suffix[:100] == (prompt.suffix or "\n")[:100]


def test_input_does_not_show_code() -> None:
    """Neither what is asked nor the prompt shows source code or tokens when it is printed."""
    input = CompletionInput("secret_prefix", "secret_suffix", snippets=(("p", "secret_snippet"),))
    assert "secret" not in repr(input) + repr(BUILDER.build(input))
    assert attrs.fields(type(BUILDER.build(input))).token_ids.repr is False


def test_a_context_without_room_is_refused() -> None:
    """The builder cannot be made with a budget that leaves no room for code."""
    with pytest.raises(ConfigError, match="context_tokens"):
        PromptBuilder(REAL, fim_format("codellama-spm", REAL), context_tokens=128)


def test_a_path_stays_in_its_comment() -> None:
    """A newline in a path does not get code into the prompt."""
    input = CompletionInput("x", "\n", language="python", snippets=(("a\nimport os", "y"),))
    assert parts(BUILDER.build(input).token_ids)[0] == "# Path: a import os\n# y\nx"


def test_output_limit_of_a_request() -> None:
    """A request may ask for less output than usual, never for more."""
    assert BUILDER.build(CompletionInput("x = ", mode="line", max_tokens=5)).max_tokens == 5
    assert BUILDER.build(CompletionInput("x = ", mode="line", max_tokens=500)).max_tokens == LINE_TOKENS


def test_endless() -> None:
    """For made-up weights nothing ends a completion but its budget."""
    prompt = PromptBuilder(REAL, fim_format("codellama-spm", REAL), endless=True).build(
        CompletionInput("x = ", " + 1\n", mode="line", max_tokens=7)
    )
    assert (prompt.stop_token_ids, prompt.mode, prompt.max_tokens) == ((), "endless", 7)
    stream = CompletionStream(REAL, prompt)
    stream.feed(REAL.encode_infilling("a\n\n\ndef f():\n"))
    assert not stream.stopped
