"""What holds of any completion of any text: it is what was sent so far or less, and it is text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import CompletionInput, PromptBuilder
from codeserve.completion.stream import CompletionStream
from codeserve.completion.tokens import Tokenizer
from tests.completion.any_text import LANGUAGES, PIECES, SENTINELS

TOKENIZER = Tokenizer.load(Path(__file__).parents[2] / "models" / "mini-codellama")
BUILDER = PromptBuilder(TOKENIZER, fim_format("codellama-spm", TOKENIZER))

pieces = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=14).map("".join)


@settings(max_examples=400, deadline=None)
@given(
    prefix=pieces,
    suffix=pieces,
    output=pieces,
    language=st.sampled_from(LANGUAGES),
    mode=st.sampled_from(["line", "block", "auto"]),
    chunk=st.integers(1, 5),
    cut=st.integers(0, 3),
    deadline=st.booleans(),
)
def test_a_completion_is_part_of_what_was_sent(
    prefix: str, suffix: str, output: str, language: str, mode: Any, chunk: int, cut: int, deadline: bool
) -> None:
    """It begins what was sent, holds no sentinel or control character of its own, and is not blank.

    Whatever the document, wherever the tokens end, also within a character.
    """
    prompt = BUILDER.build(CompletionInput(prefix, suffix, "", language, mode=mode))
    stream = CompletionStream(TOKENIZER, prompt)
    ids = TOKENIZER.encode_infilling(output)
    ids = ids[: len(ids) - cut] if cut else [*ids, *prompt.stop_token_ids[:1]]
    sent = "".join(stream.feed(ids[at : at + chunk]) for at in range(0, len(ids), chunk))
    text = stream.finish(deadline=deadline and not stream.stopped)
    assert sent.startswith(text)
    assert not text or text.strip()
    assert "\r" not in text
    assert text.encode().decode() == text
    document = prompt.prefix, prompt.suffix
    for unwanted in (*SENTINELS, "\x00", "\x1b", "\ufffd", "\u202e"):
        assert unwanted not in text or any(unwanted in part for part in document)
