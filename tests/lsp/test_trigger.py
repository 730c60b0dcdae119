from __future__ import annotations

from typing import Any

import pytest

from codeserve_lsp.settings import Settings, update
from codeserve_lsp.trigger import Triggers, worth_asking

PLAIN = Triggers()


@pytest.mark.parametrize("before", ["x = 1;", "f(x)", "}", "  }  ", "f();\t"])
def test_not_behind_what_is_over(before: str) -> None:
    """Behind a semicolon, a round or curly bracket at the line's end nothing is asked, unless wanted."""
    assert not worth_asking(before, "  ", deleted=False, triggers=PLAIN)
    assert worth_asking(before, "", deleted=False, triggers=Triggers(line_end=True))


@pytest.mark.parametrize("before", ["", "    ", "x = ", "f(", "items]", "if x:", "a.b", 'print("x;"'])
def test_where_a_line_goes_on(before: str) -> None:
    """On blank lines and where something is missing it is asked."""
    assert worth_asking(before, "", deleted=False, triggers=PLAIN)


@pytest.mark.parametrize("after", [")", ";", " + 1", "}", ", b)"])
def test_a_bracket_within_a_line_is_no_end(after: str) -> None:
    """With something behind the cursor the line is not over."""
    assert worth_asking("f(x)", after, deleted=False, triggers=PLAIN)


@pytest.mark.parametrize("after", ["word", "_x", "1", "ß", "名"])
def test_not_in_front_of_a_letter(after: str) -> None:
    """With a letter, digit or underscore of any script behind the cursor it is not asked, unless wanted."""
    assert not worth_asking("x = ", after, deleted=False, triggers=PLAIN)
    assert worth_asking("x = ", after, deleted=False, triggers=Triggers(inside_word=True))


def test_not_while_deleting() -> None:
    """A deletion asks for nothing, unless wanted."""
    assert not worth_asking("x = ", "", deleted=True, triggers=PLAIN)
    assert worth_asking("x = ", "", deleted=True, triggers=Triggers(deletion=True))


def test_settings() -> None:
    """Each rule is a setting of its own; what is not named goes back to its default."""
    settings, problems = update(Settings(), {"triggers": {"lineEnd": True, "insideWord": True}}, Settings())
    assert (settings.triggers, problems) == (Triggers(line_end=True, inside_word=True), [])
    settings, _ = update(settings, {"triggers": {"deletion": True}}, Settings())
    assert settings.triggers == Triggers(deletion=True)


@pytest.mark.parametrize("value", [True, [], {"lineEnd": 1}, {"lineend": True}])
def test_bad_settings(value: Any) -> None:
    """What is no such object is refused by name and changes nothing."""
    settings, problems = update(Settings(), {"triggers": value}, Settings())
    assert settings == Settings()
    assert problems == [
        "triggers: must give true or false for lineEnd, insideWord, deletion; it stays as it was"
    ]
