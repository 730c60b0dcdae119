"""The suite itself: large enough, wide enough, each case once, each family in the table."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

from tests.conformance.case import Case, families, load
from tests.conformance.positions import offset_of, position_of, replaced

ALL = [case for family in families() for case in load(family)]
README = Path(__file__).with_name("README.md").read_text(encoding="utf-8")


def test_size() -> None:
    """At least 200 cases in at least ten languages, none of which is there for a case or two only."""
    languages = [case.language for case in ALL]
    assert len(ALL) >= 200
    assert sum(languages.count(language) >= 3 for language in set(languages)) >= 10


def test_no_case_twice() -> None:
    """Names are distinct within a family, and no two cases differ in their names alone."""
    assert len({(case.family, case.name) for case in ALL}) == len(ALL)
    contents = [repr(attrs.evolve(case, name="", family="")) for case in ALL]
    assert len(set(contents)) == len(ALL)


def test_every_family_is_in_the_table() -> None:
    """The table of complaints names all families, and no family that is not there."""
    table = [line for line in README.splitlines() if line.startswith("| ")][2:]
    named = {name for line in table for name in re.findall(r"`(\w+)`", line.rsplit("|", 2)[1])}
    assert named == set(families())


@pytest.mark.parametrize("family", families())
def test_family_generalises(family: str) -> None:
    """Each family has several cases, and both texts that are shown and, where it can be, none."""
    cases = load(family)
    assert len(cases) >= 6
    assert len({case.document or str(case.cells) for case in cases}) > len(cases) // 2


def test_case_is_checked() -> None:
    """A case without an expectation, with two, or without a cursor is refused."""
    good = {"name": "a", "family": "b", "language": "c"}
    for bad in (
        {"document": "‸"},
        {"document": "‸", "insert": "x", "none": "y"},
        {"document": "x", "insert": "x"},
        {"insert": "x"},
    ):
        with pytest.raises(ValueError, match="one"):
            Case(**(good | bad))


@pytest.mark.parametrize(
    ("encoding", "column"), [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)], ids=["utf-8", "utf-16", "utf-32"]
)
def test_positions(encoding: str, column: int) -> None:
    """The suite's own measure counts units by the encoding, and lines at all three line ends."""
    text = "a\rb\r\n🦆c\nd"
    assert position_of(text, text.index("c"), encoding) == (2, column - 1)
    assert offset_of(text, 2, column, encoding) == text.index("c") + 1
    assert offset_of(text, 1, 1, encoding) == text.index("\r\n")
    assert replaced(text, (2, 0), (2, column - 1), "x", encoding) == "a\rb\r\nxc\nd"
