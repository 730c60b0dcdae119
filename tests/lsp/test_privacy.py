"""What must stay on this machine, by name, by ignore file and by size."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeserve_lsp.privacy import Privacy


@pytest.fixture
def privacy(tmp_path: Path) -> Privacy:
    """Rules for a workspace in a repository."""
    (tmp_path / ".git" / "info").mkdir(parents=True)
    made = Privacy()
    made.folders = [tmp_path]
    return made


def write(path: Path, text: str = "x") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path.as_uri()


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "prod.env",
        "server.pem",
        "a/b/tls.key",
        "id_rsa",
        "id_ed25519.pub",
        ".ssh/config",
        ".netrc",
        ".npmrc",
        "secrets.yaml",
        "config/credentials.json",
        "terraform.tfstate",
        "my-service-account-1.json",
        ".git/config",
    ],
)
def test_secrets(privacy: Privacy, tmp_path: Path, name: str) -> None:
    """Files that hold credentials stay, without any ignore file."""
    assert privacy.refuses(write(tmp_path / name))


@pytest.mark.parametrize(
    "name", ["a.py", "env.py", "keys.py", "secrets.py", ".env.example", "src/credentials.go"]
)
def test_code_goes(privacy: Privacy, tmp_path: Path, name: str) -> None:
    """Code does not count as a secret for its name."""
    assert not privacy.refuses(write(tmp_path / name))


def test_ignore_files(privacy: Privacy, tmp_path: Path) -> None:
    """Both ignore files and the repository's own exclude list count; later and deeper ones win."""
    write(tmp_path / ".gitignore", "build/\n*.log\n/only_top.py\n")
    write(tmp_path / ".codeserveignore", "private/\n")
    write(tmp_path / ".git" / "info" / "exclude", "mine.py\n")
    write(tmp_path / "sub" / ".gitignore", "!keep.log\nlocal.py\n")
    refused = [
        "build/a.py",
        "x.log",
        "sub/x.log",
        "only_top.py",
        "private/deep/a.py",
        "mine.py",
        "sub/local.py",
    ]
    allowed = ["sub/keep.log", "sub/only_top.py", "local.py", "sub/build.py"]
    assert [name for name in refused if not privacy.refuses(write(tmp_path / name))] == []
    assert [name for name in allowed if privacy.refuses(write(tmp_path / name))] == []


def test_nothing_is_taken_back_below_an_ignored_folder(privacy: Privacy, tmp_path: Path) -> None:
    """As with git, a pattern inside an ignored folder cannot let a file of it out."""
    write(tmp_path / ".gitignore", "vendor/\n")
    write(tmp_path / "vendor" / ".gitignore", "!a.py\n")
    assert privacy.refuses(write(tmp_path / "vendor" / "a.py"))


def test_an_unreadable_line_is_passed_over(privacy: Privacy, tmp_path: Path) -> None:
    """A line that is no pattern does not take the others with it."""
    write(tmp_path / ".gitignore", "!\n/\nhidden.py\n")
    assert privacy.refuses(write(tmp_path / "hidden.py"))


def test_patterns_above_the_workspace_folder(privacy: Privacy, tmp_path: Path) -> None:
    """When the workspace folder lies in a repository, that repository's patterns count."""
    write(tmp_path / ".gitignore", "hidden.py\n")
    privacy.folders = [tmp_path / "part"]
    assert privacy.refuses(write(tmp_path / "part" / "hidden.py"))


def test_several_folders(tmp_path: Path) -> None:
    """Each workspace folder has its own patterns; a file outside all has those of its own folder."""
    privacy = Privacy()
    privacy.folders = [tmp_path / "one", tmp_path / "two"]
    for folder in ("one", "three"):
        write(tmp_path / folder / ".gitignore", "a.py\n")
    assert privacy.refuses(write(tmp_path / "one" / "deep" / "a.py"))
    assert not privacy.refuses(write(tmp_path / "two" / "a.py"))
    assert privacy.refuses(write(tmp_path / "three" / "a.py"))


def test_a_link_has_the_rules_of_its_target(privacy: Privacy, tmp_path: Path) -> None:
    """A harmless name for a secret does not let it out."""
    write(tmp_path / "sub" / ".env")
    (tmp_path / "notes.py").symlink_to(tmp_path / "sub" / ".env")
    assert privacy.refuses((tmp_path / "notes.py").as_uri())


def test_size(privacy: Privacy, tmp_path: Path) -> None:
    """Too big on disk or in the editor stays."""
    privacy.max_bytes = 100
    assert privacy.refuses(write(tmp_path / "big.py", "x" * 101))
    small = write(tmp_path / "small.py")
    assert privacy.refuses(small, 101)
    assert not privacy.refuses(small, 100)


def test_other_schemes(privacy: Privacy, tmp_path: Path) -> None:
    """A new document goes unless its name is a secret's; what is not a path at all stays."""
    assert not privacy.refuses("untitled:Untitled-1")
    assert privacy.refuses("untitled:/x/.env")
    assert privacy.refuses(f"git:{tmp_path}/.env?ref=HEAD")
    assert not privacy.refuses(f"git:{tmp_path}/a.py?ref=HEAD")
    for odd in ("output:log", "file://[", "file:///a%00b", ""):
        assert privacy.refuses(odd)


def test_what_cannot_be_read_stays(privacy: Privacy, tmp_path: Path) -> None:
    """When nobody knows what an ignore file says, nothing leaves. A folder of that name says nothing."""
    uri = write(tmp_path / "sub" / "a.py")
    (tmp_path / ".codeserveignore").mkdir()
    assert not privacy.refuses(uri)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert privacy.refuses((tmp_path / "loop" / "a.py").as_uri())


def test_a_verdict_is_fresh(privacy: Privacy, tmp_path: Path) -> None:
    """A pattern that is added applies without a restart."""
    uri = write(tmp_path / "a.py")
    assert not privacy.refuses(uri)
    write(tmp_path / ".gitignore", "a.py\n")
    privacy.forget()
    assert privacy.refuses(uri)
    write(tmp_path / ".gitignore", "bb.py\n")
    privacy.forget()
    assert not privacy.refuses(uri)
