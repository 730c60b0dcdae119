"""Files and places to type in."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from codeserve.bench.corpus import Corpus, find_files
from codeserve.errors import ConfigError

LINES = "".join(f"value_{number} = {number}\n" for number in range(2000))


def corpus(folder: Path) -> Corpus:
    """Two files that are long enough among some that are not."""
    (folder / "a.py").write_text(LINES)
    (folder / "b.py").write_text(LINES.replace("value", "other"))
    (folder / "short.py").write_text("x = 1\n")
    (folder / "latin.py").write_bytes(b"# \xe9\n" * 10_000)
    return Corpus(find_files([f"{folder}/*.py"]))


def test_place_is_a_piece_of_one_file(tmp_path: Path) -> None:
    """Prefix, typing and suffix are consecutive text of about the sizes asked for, cut at lines."""
    files = corpus(tmp_path)
    for seed in range(50):
        place = files.place(random.Random(seed), prefix_chars=3000, typed_chars=500, suffix_chars=700)
        text = (tmp_path / place.name).read_text()
        whole = place.prefix + place.typed + place.suffix
        assert whole in text
        assert text[text.index(whole) - 1 : text.index(whole)] in ("", "\n")
        assert place.prefix.endswith("\n")
        assert place.suffix.startswith("\n")
        assert len(place.prefix) == pytest.approx(3000, abs=40)
        assert len(place.typed) == pytest.approx(500, abs=40)
        assert len(place.suffix) <= 700


def test_place_is_shortened_at_a_line(tmp_path: Path) -> None:
    """A shorter prefix begins at a line's start; one that is short enough stays."""
    place = corpus(tmp_path).place(random.Random(0), prefix_chars=3000, typed_chars=100, suffix_chars=100)
    shorter = place.shortened(1000)
    assert place.prefix.endswith("\n" + shorter.prefix)
    assert len(shorter.prefix) == pytest.approx(1000, abs=40)
    assert (shorter.typed, shorter.suffix) == (place.typed, place.suffix)
    assert place.shortened(len(place.prefix)) == place


def test_same_seed_same_place(tmp_path: Path) -> None:
    """Places depend on the seed alone."""
    files = corpus(tmp_path)
    sizes = {"prefix_chars": 1000, "typed_chars": 100, "suffix_chars": 100}
    first = [files.place(random.Random("0-1"), **sizes) for _ in range(2)]
    assert first[0] == first[1]
    assert len({files.place(random.Random(seed), **sizes).prefix for seed in range(10)}) > 5


def test_default_files_are_python_code() -> None:
    """Without patterns there are files: Python's own."""
    files = find_files([])
    assert len(files) > 100
    assert files == sorted(files)
    assert {path.suffix for path in files} == {".py"}


def test_no_file_is_an_error(tmp_path: Path) -> None:
    """Patterns that match nothing, and files that are all too short, say what to do."""
    with pytest.raises(ConfigError, match="give other patterns with --files"):
        find_files([f"{tmp_path}/*.none"])
    with pytest.raises(ConfigError, match="ask for less context"):
        corpus(tmp_path).place(random.Random(0), prefix_chars=10**6, typed_chars=1, suffix_chars=1)
