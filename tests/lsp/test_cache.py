"""The cache: typing what was suggested, deleting it, and going elsewhere."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeserve_lsp import cache as module
from codeserve_lsp.cache import DOCUMENTS, PER_DOCUMENT, Cache, Suggestion, whole_lines
from codeserve_lsp.documents import Snapshot

URI = "file:///a.py"


def at(prefix: str, suffix: str = "", uri: str = URI) -> Snapshot:
    return Snapshot(uri, 1, "python", 0, 0, prefix, suffix)


def kept(cache: Cache, prefix: str, text: str, suffix: str = "", *, done: bool = True) -> Suggestion:
    suggestion = Suggestion.at(at(prefix, suffix))
    cache.add(URI, suggestion)
    if done:
        suggestion.end(text, "stop")
    else:
        suggestion.feed(text)
    return suggestion


@given(before=st.text("ab\n", max_size=12), text=st.text("ab\n", min_size=1, max_size=12), data=st.data())
def test_typing_through_leaves_the_rest(before: str, text: str, data: st.DataObject) -> None:
    """At any point of a suggestion that is being typed, what is left of it is found."""
    count = data.draw(st.integers(0, len(text) - 1))
    cache = Cache()
    kept(cache, before, text)
    match = cache.find(at(before + text[:count]))
    if text[count:].strip():
        assert match is not None
        assert match.suggestion.rests(match.typed) == [text[count:]]


@given(
    document=st.text("ab", min_size=6, max_size=16),
    now=st.text("ab", max_size=20),
    text=st.text("ab", max_size=6),
)
def test_places_that_look_alike(document: str, now: str, text: str) -> None:
    """Of several places with the same text around them it is the last one behind which the text fits."""
    with mock.patch.object(module, "BEFORE_CHARS", 4), mock.patch.object(module, "TAIL_CHARS", 2):
        suggestion = Suggestion.at(at(document))
        suggestion.end(text, "stop")
        found = suggestion.typed(at(now))
    places = [now[:end] for end in range(len(now), -1, -1) if now[:end].endswith(document[-4:])]
    typed = [now[len(place) :] for place in places]
    assert found == next((each for each in typed if text.startswith(each)), None)


def test_deleting_comes_back_to_the_suggestion() -> None:
    """A wrong character ends the match, deleting it brings the suggestion back."""
    cache = Cache()
    kept(cache, "x = ", "foo(bar)")
    assert cache.find(at("x = fz")) is None
    match = cache.find(at("x = f"))
    assert match is not None
    assert match.suggestion.rests(match.typed) == ["oo(bar)"]


def test_other_text_around_is_another_question() -> None:
    """A change before or behind the cursor, or another document, does not match."""
    cache = Cache()
    kept(cache, "x = ", "foo", ")")
    assert cache.find(at("x = f", ")")) is not None
    assert cache.find(at("x = f", "))")) is None
    assert cache.find(at("y = f", ")")) is None
    assert cache.find(at(" x = f", ")")) is None
    assert cache.find(at("x = f", ")", "file:///b.py")) is None


def test_far_changes_do_not_matter() -> None:
    """Beyond the text that is compared an edit leaves the suggestion valid."""
    cache = Cache()
    near = "y" * 4000
    kept(cache, "a" + near, "foo")
    assert cache.find(at("b" + near + "f")) is not None


def test_typed_to_its_end_is_no_match() -> None:
    """A suggestion that has been typed out has nothing more to say."""
    cache = Cache()
    kept(cache, "x", "foo")
    assert cache.find(at("xfoo")) is None


def test_nothing_to_say_is_remembered_in_its_place() -> None:
    """An empty answer holds where it was given, and not a character further."""
    cache = Cache()
    kept(cache, "x", "")
    match = cache.find(at("x"))
    assert match is not None
    assert match.suggestion.rests(match.typed) == []
    assert cache.find(at("xy")) is None


def test_unfinished_text() -> None:
    """A text that is still coming matches as long as it does not contradict what was typed."""
    cache = Cache()
    suggestion = kept(cache, "x", "ret", done=False)
    for typed in ("", "r", "ret", "retu"):
        match = cache.find(at("x" + typed))
        assert match is not None
        assert match.typed == typed
    assert cache.find(at("xra")) is None
    suggestion.feed("ain\nmore")
    assert cache.find(at("xretu")) is None
    assert suggestion.rests("re") == ["tain"]


def test_unfinished_without_text_matches_in_its_place_only() -> None:
    """Of a text of which nothing is known a later cursor does not wait."""
    cache = Cache()
    kept(cache, "x", "", done=False)
    assert cache.find(at("x")) is not None
    assert cache.find(at("xy")) is None


def test_more_candidates_need_a_new_request() -> None:
    """A suggestion asked for once does not stand for three."""
    cache = Cache()
    suggestion = kept(cache, "x", "foo")
    assert cache.find(at("x"), asked=3) is None
    suggestion.asked = 3
    suggestion.end("foo", "stop", ["foo", "fab", "go"])
    match = cache.find(at("xf"), asked=3)
    assert match is not None
    assert match.suggestion.rests(match.typed) == ["oo", "ab"]


def test_bounded() -> None:
    """Neither one document nor many make it grow without end."""
    cache = Cache()
    for i in range(PER_DOCUMENT + 1):
        kept(cache, f"{i}!", "foo")
    assert cache.find(at("0!")) is None
    assert cache.find(at("1!")) is not None
    for i in range(DOCUMENTS):
        cache.add(f"file:///{i}", Suggestion.at(at("x")))
    assert cache.find(at("1!")) is None


def test_remove_and_forget() -> None:
    """What came to nothing goes; what is gone already does not matter."""
    cache = Cache()
    suggestion = kept(cache, "x", "foo")
    cache.remove(URI, suggestion)
    cache.remove(URI, suggestion)
    cache.remove("file:///none", suggestion)
    assert cache.find(at("x")) is None
    for uri in (URI, None):
        kept(cache, "x", "foo")
        cache.forget(uri)
        assert cache.find(at("x")) is None


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", ""),
        ("ab", ""),
        ("a\nb", "a"),
        ("a\n  b\n", "a\n  b"),
        ("a\n\n\n", "a"),
        ("\n", ""),
        ("\n  a\nb", "\n  a"),
    ],
)
def test_whole_lines(text: str, whole: str) -> None:
    """A line counts once it has ended."""
    assert whole_lines(text) == whole


def test_bounded_by_size() -> None:
    """Long texts push the oldest ones out, of the document used longest ago first."""
    cache = Cache()
    with mock.patch.object(module, "KEPT_CHARS", 250):
        cache.add("file:///old", Suggestion.at(at("o", uri="file:///old")))
        kept(cache, "1!", "x" * 50)
        kept(cache, "2!", "y" * 50)
        cache.trim()
        assert cache.find(at("o", uri="file:///old")) is not None
        kept(cache, "3!", "z" * 50)
        cache.trim()
    assert cache.find(at("o", uri="file:///old")) is None
    assert [cache.find(at(f"{i}!")) is not None for i in (1, 2, 3)] == [False, True, True]
