"""What an editor without inline completion gets."""

from __future__ import annotations

import pytest
from lsprotocol.types import TextEdit

from codeserve_lsp.convert import completion_list
from codeserve_lsp.session import Completion


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ("x = fo", "fo"),
        ("x = ", ""),
        ("", ""),
        ("a.b_1", "b_1"),
        ("été", "été"),
        ("x = '" + "f" * 200_000 + ".", ""),
    ],
)
def test_the_item_replaces_the_word_at_the_cursor(before: str, word: str) -> None:
    """Editors filter by that word, so it is part of the item; a long line takes no longer for its length."""
    here = 3, len(before)
    [item] = completion_list(Completion(here, here, [("1", "bar(1)")]), before, "utf-16").items
    assert isinstance(item.text_edit, TextEdit)
    assert item.text_edit.new_text == item.filter_text == word + "bar(1)"
    assert item.text_edit.range.start.character == len(before) - len(word)
    assert item.text_edit.range.end.character == len(before)
