"""Where an author writes, and in which keystrokes."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from codeserve.bench.quality.sources import Source
from codeserve.bench.quality.spots import choose_spot, keystrokes

TEXT = "".join(
    f"def f{n}(a, b):\n    if a > b:\n        return a + {n}\n\n    return b\n\n\n" for n in range(20)
)
SOURCE = Source("p/a.py", "python", TEXT)


def test_spots_are_of_all_kinds() -> None:
    """New lines with and without indentation, the end of a line and the middle of one all come up."""
    rng = random.Random(0)
    kinds = set()
    for _ in range(200):
        spot = choose_spot(SOURCE, rng)
        assert spot is not None
        head = TEXT[: spot.start].rpartition("\n")[2]
        tail = spot.suffix.partition("\n")[0]
        kinds.add(
            ("text" if head.strip() else "indent" if head else "start", bool(tail), "\n" in spot.written)
        )
        assert TEXT[: spot.start] + spot.written + spot.suffix == TEXT
        assert spot.written.strip()
        assert len(spot.written) <= 240
    assert {
        ("indent", False, True),
        ("start", False, False),
        ("text", False, False),
        ("text", True, False),
    } <= kinds


def test_a_file_without_places() -> None:
    """A file in which nothing can be written has no spot."""
    assert choose_spot(Source("a.py", "python", "x" * 500), random.Random(0)) is None


@given(st.text(alphabet="ab (\n\t"))
def test_keystrokes_give_the_text(text: str) -> None:
    """Put together, the keystrokes are the text; each is a letter, or line ends with their indentation."""
    keys = list(keystrokes(text))
    assert "".join(keys) == text
    assert all(len(key) == 1 or key.startswith("\n") for key in keys)


def test_indentation_comes_with_the_line_end() -> None:
    """The editor indents the next line by itself."""
    assert list(keystrokes("a\n\n    b")) == ["a", "\n\n    ", "b"]
