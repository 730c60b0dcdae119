"""Ignore patterns, against Git itself and against patterns that were written to take long."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from codeserve_lsp.globs import Budget, Glob, TooMuch
from codeserve_lsp.patterns import MAX_RULES, Patterns, as_bytes

# Of which patterns are made: what Git reads in a way of its own is all here.
ATOMS = (
    *("a", "b", "c", "a", ".", "A", "é", "-", "]", " ", "\\ ", "!", "#", "\t", "\r"),
    *("*", "*", "?", "**", "***", "/", "/", "/**/", "**/", "/**", "//", "\\", "\\a", "\\*", "\\["),
    *(
        "[ab]",
        "[!a]",
        "[^a]",
        "[a-b]",
        "[]a]",
        "[!]a]",
        "[\\]a]",
        "[a\\-c]",
        "[a-]",
        "[--a]",
        "[b-a]",
        "[/a]",
    ),
    *("[[:alpha:]]", "[[:digit:]a]", "[[:upper:]b]", "[[:punct:]]", "[[:foo:]]", "[[:]", "[[:a]", "[a", "["),
)


def ignored(patterns: Patterns, path: str) -> bool:
    """As `Privacy` asks: folder by folder."""
    names = as_bytes(path).split("/")
    return any(
        patterns.verdict("/".join(names[:depth]), Budget(1_000_000), folder=depth < len(names))
        for depth in range(1, len(names) + 1)
    )


def name(source: random.Random) -> str:
    made = "".join(source.choices("aabbc.A-é]", k=source.randint(1, 4)))
    return made if made.strip(".") else "a"


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_git(tmp_path: Path, seed: int) -> None:
    """Git ignores the same of some hundred paths, whatever the patterns are."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    source = random.Random(seed)
    subprocess.run([git, "init", "-q", tmp_path], check=True)
    paths = ["/".join(name(source) for _ in range(source.randint(1, 4))) for _ in range(300)]
    for _ in range(40):
        lines = [
            source.choice(("", "", "", "!", "/")) + "".join(source.choices(ATOMS, k=source.randint(1, 6)))
            for _ in range(source.randint(1, 4))
        ]
        content = source.choice(("", "\ufeff")) + "\n".join(lines)
        (tmp_path / ".gitignore").write_bytes(content.encode())
        run = subprocess.run(
            [git, "-C", tmp_path, "check-ignore", "-z", "--stdin", "--no-index"],
            input="\0".join([*paths, ""]).encode(),
            capture_output=True,
        )
        patterns = Patterns(content.encode())
        found = {path for path in paths if ignored(patterns, path)}
        assert found == set(run.stdout.decode().split("\0")) - {""}, lines


def test_bytes_that_are_no_text() -> None:
    """A name that is not UTF-8 is the same in an ignore file and in a path."""
    assert ignored(Patterns(b"priv\xff\n"), "priv\udcff/a.py")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 200 + "b", "a" * 255),
        ("**/a/" * 200 + "b", "a/" * 500 + "c"),
        ("*[ab]*" * 100 + "c", "a" * 255),
        ("**/*a*a*a*b/" * 20 + "c", "aaaaaaaaaa/" * 300),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    """What would be tried in more ways than there are atoms is done within some steps for each character."""
    assert not Glob(pattern, Budget(10 * len(pattern))).matches(path, Budget(5 * len(pattern) * len(path)))


def test_work_is_bounded() -> None:
    """By many patterns that each take a while nothing is decided."""
    patterns = Patterns(b"\n".join(b"*[ab]%d*[ab]*" % number for number in range(2_000)))
    with pytest.raises(TooMuch):
        patterns.verdict("a" * 255, Budget(100_000), folder=False)


@pytest.mark.parametrize("content", [b"a\n" * (MAX_RULES + 1), b"a" * 5_000])
def test_a_file_of_no_sane_size(content: bytes) -> None:
    """More lines, or longer ones, than anybody writes are not read."""
    with pytest.raises(TooMuch):
        Patterns(content)


def test_a_long_list_costs_little() -> None:
    """Thousands of names and paths are looked up rather than gone through."""
    patterns = Patterns(b"\n".join(b"dir%d/name%d.o\nname%d" % (n, n, n) for n in range(5_000)))
    budget = Budget(1)
    assert patterns.verdict("dir4/name4.o", budget, folder=False)
    assert patterns.verdict("x/name4999", budget, folder=True)
    assert patterns.verdict("x/y", budget, folder=True) is None


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a[b[[:]", "a:", True),
        ("**\\/a", "x/y/a", True),
        ("**\\/a", "a", False),
        ("a**/b", "x/b", False),
        ("x/[[:foo:]]*", "x/a", False),
        ("a/**/**/b", "a/b", True),
        ("a/**", "a", False),
        ("f\\  ", "f ", True),
        ("f\\", "f\\", False),
        ("/", "a", False),
        ("a//b", "a/b", False),
    ],
)
def test_what_git_does_with_odd_ones(pattern: str, path: str, *, expected: bool) -> None:
    """Found by comparing with Git 2.39 at length."""
    assert ignored(Patterns(pattern.encode()), path) == expected
