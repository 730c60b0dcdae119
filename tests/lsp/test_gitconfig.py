"""The user's global ignore file, as Git's configuration names it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from codeserve_lsp.gitconfig import excludes_files, git_folder


def read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose home is empty."""
    return {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}


def test_default(home: dict[str, str], tmp_path: Path) -> None:
    """Without a configuration it is git/ignore in the user's configuration folder."""
    assert excludes_files(None, read, home) == [tmp_path / ".config" / "git" / "ignore"]
    moved = home | {"XDG_CONFIG_HOME": str(tmp_path / "x")}
    assert excludes_files(tmp_path / "none", read, moved) == [tmp_path / "x" / "git" / "ignore"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[core]\n\texcludesFile = ~/ig\n", "ig"),
        ("[CORE]\nEXCLUDESFILE=~/ig # mine\n", "ig"),
        ('[core] excludesfile = "~/a b"', "a b"),
        ("[user]\nname = x\n[core]\r\n  excludesfile = sub/\\\nig ; no\r\n", "sub/ig"),
        ('[core]\nexcludesfile = "~/a\\"b" # "\n', 'a"b'),
        ('[core "sub"]\n[core]\neditor = vi\nexcludesfile = ~/ig\n', "ig"),
    ],
)
def test_syntax(home: dict[str, str], tmp_path: Path, text: str, expected: str) -> None:
    """Sections, names in any case, quotes, comments and continued lines."""
    write(tmp_path / ".gitconfig", text)
    assert excludes_files(None, read, home) == [tmp_path / expected]


def test_agrees_with_git(home: dict[str, str], tmp_path: Path) -> None:
    """Git itself reads the same value out of the same file."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    file = write(tmp_path / ".gitconfig", '[a]\n[core]\n\texcludesFile = "~/a \\"b\\" c" d\\\n e ; x\n')
    run = subprocess.run(
        [git, "config", "--file", str(file), "--type=path", "core.excludesFile"],
        capture_output=True,
        text=True,
        check=True,
        env=home,
    )
    assert excludes_files(None, read, home) == [Path(run.stdout.rstrip("\n"))]


def test_every_place_counts(home: dict[str, str], tmp_path: Path) -> None:
    """The user's files, those that they include on whatever condition, and the repository's own."""
    write(tmp_path / ".gitconfig", '[includeIf "gitdir:~/x/"]\npath = more\n[core]\nexcludesfile = ~/one\n')
    write(tmp_path / "more", "[core]\nexcludesfile = ~/two\n[include]\npath = ~/more\n")  # goes in a circle
    write(tmp_path / ".config" / "git" / "config", "[core]\nexcludesfile = ~/three\n")
    write(tmp_path / "r" / ".git" / "config", "[core]\nexcludesfile =\nbare = false\n")
    write(tmp_path / "r" / ".git" / "config.worktree", "[core]\nexcludesfile = /four\n")
    found = excludes_files(tmp_path / "r" / ".git", read, home)
    assert sorted(map(str, found)) == sorted(["/four", *(f"{tmp_path}/{n}" for n in ("one", "two", "three"))])
    other = write(tmp_path / "other", "[core]\nexcludesfile = ~/five\n")
    elsewhere = home | {"GIT_CONFIG_GLOBAL": str(other)}
    assert excludes_files(None, read, elsewhere) == [tmp_path / "five"]


def test_folder_of_a_linked_tree(tmp_path: Path) -> None:
    """A linked working tree has its repository's configuration, a submodule one of its own."""
    assert git_folder(tmp_path, read) == tmp_path / ".git"
    write(tmp_path / "main" / ".git" / "worktrees" / "w" / "commondir", "../..\n")
    write(tmp_path / "w" / ".git", f"gitdir: {tmp_path}/main/.git/worktrees/w\n")
    assert git_folder(tmp_path / "w", read).resolve() == tmp_path / "main" / ".git"
    write(tmp_path / "main" / "sub" / ".git", "gitdir: ../.git/modules/sub\n")
    found = git_folder(tmp_path / "main" / "sub", read)
    assert found.resolve() == tmp_path / "main" / ".git" / "modules" / "sub"
