"""What holds of any edit in any document, through the whole of codeserve."""

from __future__ import annotations

import random
from typing import Literal

import pytest

from tests.completion.any_text import LANGUAGES, PIECES, SENTINELS
from tests.conformance.case import CURSOR, Case
from tests.conformance.pipeline import Pipeline
from tests.conformance.positions import replaced

ENCODINGS: tuple[Literal["utf-8", "utf-16", "utf-32"], ...] = ("utf-8", "utf-16", "utf-32")
HALVES = ([], ["<0xF0>", "<0x9F>"], ["<0xE2>", "<0x80>", "<0xAE>"])


def any_case(seed: int) -> Case:
    """A document and an output put together by chance, the document with one kind of line end."""
    chance = random.Random(seed)
    before, behind, output = ("".join(chance.choices(PIECES, k=chance.randint(0, 14))) for _ in range(3))
    end = chance.choice(["\n", "\r\n", "\r"])
    return Case(
        name=str(seed),
        family="any",
        language=chance.choice(LANGUAGES) or "plaintext",
        document=(before + CURSOR + behind).replace("\n", end),
        output=output,
        tokens=list(chance.choice(HALVES)),
        chunk=chance.randint(0, 3),
        encoding=chance.choice(ENCODINGS),
        trigger="invoked",
        none="whatever it is",
    )


@pytest.mark.parametrize("seed", range(60))
async def test_any_text(codeserve: Pipeline, seed: int) -> None:
    """The edit puts text in at the cursor and changes nothing else: the document's line ends, no sentinel
    and no half character in it."""
    case = any_case(seed)
    outcome = await codeserve.run(case)
    assert outcome.reason in ("", "no_suggestion")
    text, cursor = case.text, case.cursor
    for start, end, new in outcome.edits:
        assert replaced(text, start, end, new, case.encoding) == text[:cursor] + new + text[cursor:]
        assert new.strip()
        assert new.encode().decode() == new
        lines = text.replace("\r\n", "")
        own = "\r\n" if "\r\n" in text else "\r" if "\r" in lines else "\n"
        assert not set("\r\n") & set(new.replace(own, ""))
        for unwanted in (*SENTINELS, "\x00", "\x1b", "\ufffd", "\u202e", "\u2028"):
            assert unwanted not in new or unwanted in text
