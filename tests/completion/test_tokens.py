from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from codeserve.completion.tokens import Tokenizer
from codeserve.errors import ConfigError

from .conftest import MODEL
from .samples import SENTINELS, byte_level, document, sentencepiece, utf8_text

LIBRARY = tokenizers.Tokenizer.from_file(str(MODEL / "tokenizer.json"))
FULL = json.loads((MODEL / "tokenizer.json").read_text())
SPECIAL_IDS = {token["id"] for token in FULL["added_tokens"]}
PLAIN = tokenizers.Tokenizer.from_str(json.dumps(FULL | {"added_tokens": []}))
REAL = Tokenizer(FULL)
BYTES = Tokenizer(byte_level("<|fim_prefix|>", "<|endoftext|>"))


def whole(text: str) -> list[int]:
    """The ids of a text without a leading space, by the ☺ trick of Meta's tokenizer and without any cache."""
    ids: list[int] = PLAIN.encode("☺" + text, add_special_tokens=False).ids
    assert ids[:2] == [29871, 31171]
    return ids[2:]


@pytest.mark.parametrize("sentinel", SENTINELS)
def test_sentinel_text_stays_text(tokenizer: Tokenizer, sentinel: str) -> None:
    """Source code that holds a sentinel is encoded as its characters, and decoded as them."""
    for text in (sentinel, f"x = '{sentinel}'", f"{sentinel}\n{sentinel}{sentinel}"):
        assert not SPECIAL_IDS & {*tokenizer.encode(text), *tokenizer.encode_infilling(text)}
        assert tokenizer.decode(tokenizer.encode(text)) == text.replace("▁", " ")


@given(utf8_text)
def test_no_sentinel_ever_comes_out(text: str) -> None:
    """No text whatever gives the id of a sentinel, in either kind of tokenizer."""
    assert not SPECIAL_IDS & {*REAL.encode(text), *REAL.encode_infilling(text)}
    special = {BYTES.token_id("<|fim_prefix|>"), BYTES.token_id("<|endoftext|>")}
    assert not special & set(BYTES.encode(text))


@given(utf8_text)
def test_infilling_is_metas_trick(text: str) -> None:
    """Line by line, through the cache and without "☺", the ids are those of Meta's `encode_infilling`."""
    assert REAL.encode_infilling(text) == whole(text)


@given(utf8_text)
def test_leading_space_is_sentencepieces(text: str) -> None:
    """`encode` has one more space in front, also where the text begins with spaces, and none for no text."""
    assert REAL.encode(text) == (whole(" " + text) if text else [])


@given(utf8_text.filter(lambda text: "▁" not in text))
def test_decode_gives_the_text_back(text: str) -> None:
    """No space is lost or added at the front, no character anywhere."""
    assert REAL.decode(REAL.encode(text)) == text
    assert REAL.decode_infilling(REAL.encode_infilling(text)) == text
    assert BYTES.decode(BYTES.encode(text)) == text


@given(st.lists(st.integers(3, 31_999), max_size=30))
def test_decode_agrees_with_the_library(ids: list[int]) -> None:
    """For ids that make whole characters, the text is the library's, but for the leading space it strips."""
    text = REAL.decode_infilling(ids)
    if "\ufffd" not in text:
        smile = LIBRARY.token_to_id("☺")
        assert "☺" + text == LIBRARY.decode([smile, *ids], skip_special_tokens=False)


@given(utf8_text.filter(lambda text: "▁" not in text), st.sampled_from([REAL, BYTES]))
def test_stream_decoding_never_emits_half_a_character(text: str, tokenizer: Tokenizer) -> None:
    """Fed id by id, each piece is valid text and all of them are the text; bytes of a character wait."""
    decoder = tokenizer.decoder()
    parts = [decoder.feed([id]) for id in tokenizer.encode_infilling(text)]
    assert "".join(parts) == text
    for part in parts:
        assert "\ufffd" not in part or "\ufffd" in text


def test_stream_decoding_waits_for_the_last_byte(tokenizer: Tokenizer) -> None:
    """An emoji of four byte tokens comes out with the fourth."""
    ids = tokenizer.encode_infilling("🦀")
    decoder = tokenizer.decoder()
    assert [decoder.feed([id]) for id in ids] == [""] * (len(ids) - 1) + ["🦀"]
    assert len(ids) == 4


def test_sentinel_ids_are_known_but_decode_to_nothing(tokenizer: Tokenizer) -> None:
    """Sentinels are looked up by name; in output they leave no text."""
    names = ("<s>", "</s>", "▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>")
    assert [tokenizer.token_id(name) for name in names] == [1, 2, 32007, 32008, 32009, 32010]
    assert tokenizer.token_id("<|fim_prefix|>") is None
    assert tokenizer.decode_infilling([32010, *tokenizer.encode_infilling(" a"), 1, 99_999]) == " a"


def test_codellama_is_encoded_line_by_line(tokenizer: Tokenizer) -> None:
    """No token of the real model spans a line end: where one line changed, one line is encoded."""
    assert tokenizer.linewise
    assert tokenizer.newline_id == 13
    text = document(300)
    tokenizer.encode(text)
    cache = vars(tokenizer)["encode_line"].cache_info
    before = cache().misses
    tokenizer.encode(text + "xyzzy_1")
    assert cache().misses == before + 1


def test_byte_level_is_encoded_as_a_whole() -> None:
    """Tokens of byte-level BPE may span line ends, so its text is not taken apart."""
    assert not BYTES.linewise
    assert not BYTES.leading_space


@pytest.mark.parametrize("piece", ["\n\n", "a\n", "<0x0A>a"])
def test_a_piece_with_a_newline_inside_turns_line_by_line_off(piece: str) -> None:
    """Whether lines can be encoded apart is read from the vocabulary."""
    data = sentencepiece("<s>")
    assert Tokenizer(data).linewise
    data["model"]["vocab"][piece] = 5000
    assert not Tokenizer(data).linewise


def test_merges_that_spell_a_sentinel_are_taken_out() -> None:
    """A sentinel that is in the vocabulary, with merges that lead to it, stays text nevertheless."""
    tokenizer = Tokenizer(sentencepiece("<s>", "</s>"))
    ids = tokenizer.encode("<s>")
    assert tokenizer.token_id("<s>") not in ids
    assert tokenizer.decode(ids) == "<s>"


@pytest.mark.parametrize("prepend", [True, False])
def test_leading_space_is_read_from_the_normalizer(prepend: bool) -> None:
    """Files that put the space in front by a normalizer are understood, and those that put none."""
    tokenizer = Tokenizer(sentencepiece("<s>", prepend=prepend))
    assert tokenizer.leading_space is prepend
    assert tokenizer.decode(tokenizer.encode(" ret\n  x")) == " ret\n  x"
    assert (tokenizer.encode("ret") == tokenizer.encode_infilling("ret")) is not prepend


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """The message names the folder and says what to do, in one line."""
    with pytest.raises(ConfigError, match=r"no tokenizer\.json in .*download") as error:
        Tokenizer.load(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"model": {"vocab": {"a": 0}}}', '{"model": 3}', "\xff\0"]
)
def test_an_unreadable_file_is_told(tmp_path: Path, content: str) -> None:
    """Half a file, or something else, is refused with a ConfigError."""
    (tmp_path / "tokenizer.json").write_text(content, encoding="latin-1")
    with pytest.raises(ConfigError):
        Tokenizer.load(tmp_path)
