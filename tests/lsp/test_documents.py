"""Documents: any sequence of edits leaves the text as a client of that encoding has it."""

from __future__ import annotations

import itertools
import re
from typing import get_args
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeserve.completion.cut import cut_prefix, cut_suffix
from codeserve_lsp import documents as module
from codeserve_lsp.documents import Document, Documents, Edit, file_path, near_prefix, near_suffix
from codeserve_lsp.text import Encoding, content, line_end, split_at, split_lines, units

ENCODINGS = get_args(Encoding)
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}

# What splits lines in Python but not in the protocol, what does, and characters of every width.
ALPHABET = [*"ab\t\n\r\x0b\x0c\x1c\x85\u2028\u2029é€😀𝒳", "\r\n"]
texts = st.lists(st.sampled_from(ALPHABET), max_size=24).map("".join)


def to_units(text: str, encoding: Encoding) -> list[bytes]:
    """The text as a list of code units."""
    codec, size = CODECS[encoding]
    raw = text.encode(codec, "surrogatepass")
    return [raw[i : i + size] for i in range(0, len(raw), size)]


def to_text(code_units: list[bytes], encoding: Encoding) -> str:
    return b"".join(code_units).decode(CODECS[encoding][0], "surrogatepass")


def brute_offset(text: str, line: int, character: int, encoding: Encoding) -> int:
    """A position as an offset in code units, by the letter of the protocol."""
    starts = [0] + [m.end() for m in re.finditer(r"\r\n|\r|\n", text)]
    if line >= len(starts):
        return len(to_units(text, encoding))
    body = re.split(r"\r\n|\r|\n", text)[line]
    return units(text[: starts[line]], encoding) + min(character, len(to_units(body, encoding)))


def brute_edit(text: str, edit: Edit, encoding: Encoding) -> str:
    start = brute_offset(text, *edit.start, encoding)
    end = brute_offset(text, *edit.end, encoding)
    code_units = to_units(text, encoding)
    return to_text(code_units[:start] + to_units(edit.text, encoding) + code_units[end:], encoding)


def boundary(text: str, line: int, character: int, encoding: Encoding) -> int:
    """``character``, moved to a character boundary where the encoding's clients can only stand on one."""
    body = (re.split(r"\r\n|\r|\n", text) + [""] * (line + 1))[line]
    if encoding != "utf-8":
        return character
    return max(
        units(body[:i], encoding) for i in range(len(body) + 1) if units(body[:i], encoding) <= character
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_edits_match_a_client(encoding: Encoding, data: st.DataObject) -> None:
    """After each of any sequence of edits the document equals a brute-force client's."""
    text = data.draw(texts)
    document = Document("file:///a", text)
    for _ in range(data.draw(st.integers(1, 8))):
        count = len(re.findall(r"\r\n|\r|\n", text))
        spots = st.tuples(st.integers(0, count + 1), st.integers(0, 12))
        points = [
            (line, boundary(text, line, char, encoding))
            for line, char in (data.draw(spots), data.draw(spots))
        ]
        start, end = sorted(points, key=lambda p, t=text: brute_offset(t, *p, encoding))
        edit = Edit(start, end, data.draw(texts))
        text = brute_edit(text, edit, encoding)
        document.apply(edit, encoding)
        assert document.text == text
        assert document.lines == split_lines(text)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=200, deadline=None)
@given(text=texts, data=st.data())
def test_snapshot_splits_at_the_cursor(encoding: Encoding, text: str, data: st.DataObject) -> None:
    """Prefix and suffix are the text before and behind the position, with newlines as line ends."""
    lines = re.split(r"\r\n|\r|\n", text)
    line = data.draw(st.integers(0, len(lines) - 1))
    column = data.draw(st.integers(0, len(lines[line])))
    snapshot = Document("file:///a", text).snapshot(line, units(lines[line][:column], encoding), encoding)
    assert snapshot.prefix == "\n".join([*lines[:line], lines[line][:column]])
    assert snapshot.suffix == "\n".join([lines[line][column:], *lines[line + 1 :]])


@given(text=texts)
def test_lines_are_those_of_the_protocol(text: str) -> None:
    """Lines join to the text again and split where the protocol says."""
    lines = split_lines(text)
    assert "".join(lines) == text
    assert [content(line) for line in lines] == re.split(r"\r\n|\r|\n", text)


@given(text=texts, encoding=st.sampled_from(ENCODINGS))
def test_units_agree_with_the_codec(text: str, encoding: Encoding) -> None:
    """A text has as many code units as its encoded form."""
    assert units(text, encoding) == len(to_units(text, encoding))


def test_utf16_edit_between_the_halves_of_a_pair() -> None:
    """A client that deletes half of a surrogate pair and puts it back has the character again."""
    document = Document("file:///a", "x😀y")
    document.apply(Edit((0, 2), (0, 3), ""), "utf-16")
    assert document.text == "x\ud83dy"
    document.apply(Edit((0, 2), (0, 2), "\ude00"), "utf-16")
    assert document.text == "x😀y"


def test_column_inside_a_utf8_character_means_its_start() -> None:
    """No part of a character is ever cut off in UTF-8."""
    assert split_at("a€b\n", 2, "utf-8") == ("a", "€b\n")


def test_end_before_start_replaces_nothing() -> None:
    """A range that runs backwards only inserts."""
    for end in ((0, 0), (0, 1)):
        document = Document("file:///a", "abc\nabc\n")
        document.apply(Edit((0, 2), end, "-"), "utf-16")
        assert document.text == "ab-c\nabc\n"
    document.apply(Edit((1, 1), (0, 0), "+"), "utf-16")
    assert document.text == "ab-c\na+bc\n"


def test_position_outside_the_document() -> None:
    """Negative and far positions mean the nearest end, and the request's own position stays as it was."""
    snapshot = Document("file:///a", "a\nb").snapshot(9, 9, "utf-16")
    assert (snapshot.prefix, snapshot.suffix, snapshot.line, snapshot.character) == ("a\nb", "", 9, 9)
    assert Document("file:///a", "a\nb").snapshot(-1, 5, "utf-16").suffix == "a\nb"


def test_snapshot_of_a_long_document_is_cut_at_lines() -> None:
    """Far from the cursor the text is left out: whole lines, at least what the server takes."""
    document = Document("file:///a", "".join(f"line {i}\n" for i in range(40_000)))
    snapshot = document.snapshot(20_000, 4, "utf-16")
    assert snapshot.prefix.startswith("line ")
    assert snapshot.prefix.endswith("line 19999\nline")
    assert 65_536 < len(snapshot.prefix) < 66_700
    assert snapshot.suffix.startswith(" 20000\nline 20001\n")
    assert 16_384 < len(snapshot.suffix) < 16_390


def test_head_and_size() -> None:
    """The first lines of a document, whole, and how long all of it is."""
    document = Document("file:///a", "one\ntwo\nthree")
    assert [document.head(least) for least in (0, 3, 4, 99)] == [
        "one\n",
        "one\n",
        "one\ntwo\n",
        document.text,
    ]
    assert document.size == 13


def test_a_snapshot_stays_as_it_was() -> None:
    """Later changes do not reach a snapshot."""
    documents = Documents()
    document = documents.open("file:///a", "one", version=1, language="python")
    snapshot = document.snapshot(0, 3, "utf-16")
    documents.change("file:///a", ["two"], 2)
    assert (snapshot.prefix, snapshot.version) == ("one", 1)
    assert (document.text, document.version) == ("two", 2)


def test_documents_by_uri() -> None:
    """Changes to a document that is not open are ignored; closing forgets it."""
    documents = Documents()
    assert documents.change("file:///a", ["x"], 1) is None
    documents.open("file:///a", "")
    documents.close("file:///a")
    documents.close("file:///a")
    assert documents.get("file:///a") is None
    assert list(documents) == []


@given(st.lists(st.integers(1, 5), max_size=40), st.integers(0, 40), st.integers(0, 60))
def test_as_many_lines_as_hold_so_much(sizes: list[int], row: int, least: int) -> None:
    """Around a cursor as few whole lines are taken as hold more than so many characters."""
    lines = ["x" * (size - 1) + "\n" for size in sizes]
    row = min(row, len(lines))
    with mock.patch.object(module, "STEP", 4):
        before, behind = module._last(lines, row, least), module._first(lines, row, least)
    up = ["".join(lines[start:row]) for start in range(row, -1, -1)]
    down = ["".join(lines[row:end]) for end in range(row, len(lines) + 1)]
    assert before == next((text for text in up if len(text) > least), up[-1])
    assert behind == next((text for text in down if len(text) > least), down[-1])


def test_line_end_of_a_document() -> None:
    """The end that most lines have is the document's."""
    assert line_end(split_lines("a\r\nb\n")) == "\r\n"
    assert line_end(split_lines("a\r\nb\nc\n")) == "\n"
    assert line_end(split_lines("a")) == "\n"
    assert Document("file:///a", "a\rb").snapshot(0, 0, "utf-16").eol == "\r"


def test_file_path() -> None:
    """Only a file: URI has a path."""
    assert str(file_path("file:///a%20b/c.py")) == "/a b/c.py"
    assert file_path("untitled:Untitled-1") is None
    assert file_path("file://[") is None
    assert file_path("file:///a%00b") is None


def test_snapshot_with_a_selected_completion() -> None:
    """The entry picked in the completion menu counts as typed."""
    document = Document("file:///a", "x = fo()\n")
    snapshot = document.snapshot(0, 6, "utf-16", selected=Edit((0, 4), (0, 6), "format"))
    assert (snapshot.prefix, snapshot.suffix) == ("x = format", "()\n")


def test_only_deleting_is_noted() -> None:
    """Where the last change did nothing but delete, the document knows where; others clear it."""
    documents = Documents()
    document = documents.open("a", "one two\nthree\n")
    documents.change("a", [Edit((0, 3), (0, 7), "")], 2)
    assert document.deleted_at == (0, 3)
    documents.change("a", [Edit((1, 0), (1, 1), ""), Edit((0, 2), (0, 3), "")], 3)
    assert document.deleted_at == (0, 2)
    documents.change("a", [Edit((0, 0), (0, 1), ""), Edit((0, 0), (0, 0), "x")], 4)
    assert document.deleted_at is None
    documents.change("a", [Edit((0, 0), (0, 1), "")], 5)
    documents.change("a", ["all new"], 6)
    assert document.deleted_at is None


LINES = st.lists(st.sampled_from([0, 1, 79, 1_023, 1_024, 1_025, 5_000, 66_000, 150_000]), max_size=8)


@given(LINES, st.integers(0, 2_000), st.integers(0, 99))
def test_a_snapshot_is_bounded_and_cut_where_the_document_would_be(
    sizes: list[int], more: int, seed: int
) -> None:
    """However long the lines are, little is kept, and what goes out of it is what would of the whole."""
    letters = itertools.cycle("abcdefg" * seed + "xyz")
    lines = ["".join(itertools.islice(letters, size)) for size in (*sizes, more)]
    text = "\n".join(lines)
    assert len(near_prefix(text)) < 65_536 + 2 * 1_024
    assert cut_prefix(near_prefix(text)) == cut_prefix(text)
    assert len(near_suffix(text)) <= 16_384 + 2
    assert cut_suffix(near_suffix(text)) == cut_suffix(text)
    document = Document("file:///a", text)
    snapshot = document.snapshot(len(sizes), more, "utf-16")
    assert cut_prefix(snapshot.prefix) == cut_prefix(text)
    assert len(snapshot.prefix) < 65_536 + 2 * 1_024
    assert len(document.snapshot(0, 0, "utf-16").suffix) <= 16_384 + 2


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=texts, line=st.integers(-2, 9), character=st.integers(-2, 40))
def test_a_position_is_one_of_the_text(text: str, line: int, character: int, encoding: Encoding) -> None:
    """Whatever a client says, what is meant lies between two characters of the text, at or before it."""
    document = Document("file:///a", text)
    lines = [content(each) for each in document.lines]
    places = [
        (row, units(each[:count], encoding))
        for row, each in enumerate(lines)
        for count in range(len(each) + 1)
    ]
    found = document.clamp((line, character), encoding)
    if line < 0:
        assert found == (0, 0)
    elif line >= len(lines):
        assert found == places[-1]
    else:
        assert found == max(place for place in places if place <= (line, max(character, 0)))


@given(texts)
def test_units_of_utf_16(text: str) -> None:
    """Characters beyond the basic plane count twice."""
    assert units(text, "utf-16") == len(text) + sum(char > "\uffff" for char in text)


def test_a_text_too_long_to_be_followed() -> None:
    """Its lines are not told apart, its length is known, and it is one like any other once it is short."""
    documents = Documents()
    documents.max_chars = 10
    document = documents.open("a", "x\n" * 6)
    assert (document.lost, document.lines, document.size) == (True, [""], 12)
    documents.change("a", [Edit((0, 0), (2, 0), "")], 2)
    assert document.lost
    documents.change("a", ["ab\ncd"], 3)
    assert (document.lost, document.text, document.size) == (False, "ab\ncd", 5)
    documents.change("a", [Edit((0, 1), (1, 1), "0123456789")], 4)
    assert (document.lost, document.text) == (True, "")


@given(texts, st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(0, 4), texts), max_size=6))
def test_the_length_is_kept_with_each_change(text: str, edits: list[tuple[int, int, int, str]]) -> None:
    """It is always that of the text."""
    document = Document("a", text)
    for line, character, more, put in edits:
        document.apply(Edit((line, character), (line + more, character), put), "utf-16")
        assert document.size == len(document.text)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_byte_that_is_no_utf8_is_one_column(encoding: Encoding) -> None:
    """Whatever stands beside it."""
    line = "a\udce9\udc80b\u20ac\n"
    width = {"utf-8": 3}.get(encoding, 1)
    assert units(content(line), encoding) == 4 + width
    assert [split_at(line, at, encoding)[0] for at in range(5)] == [line[:at] for at in range(5)]
    assert split_at(line, 4 + width - 1 if width > 1 else 4, encoding)[0] == line[:4]
    assert split_at(line, 4 + width, encoding)[0] == line[:5]
    assert split_at(line, 99, encoding) == (line[:5], "\n")
