"""What must stay on this machine, by name, by ignore file and by size."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeserve_lsp import privacy as module
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


def test_folders_behind_links(tmp_path: Path) -> None:
    """A folder that is given by a link has its ignore file also for documents by their real place."""
    privacy = Privacy()
    write(tmp_path / "real" / ".codeserveignore", "private/\n/sub/hidden.py\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    privacy.folders = [tmp_path / "link"]
    for folder in ("link", "real"):
        for name in ("private/a.py", "sub/hidden.py"):
            assert privacy.refuses(write(tmp_path / folder / name)), (folder, name)
        assert not privacy.refuses(write(tmp_path / folder / "sub" / "a.py"))


@pytest.mark.parametrize("link", [".env", "sub/../.env", "here/.env"])
def test_every_link_on_the_way_counts(privacy: Privacy, tmp_path: Path, link: str) -> None:
    """A file whose secret name is itself a link stays as well, also through folders that are links."""
    write(tmp_path / "data" / "values.txt")
    (tmp_path / "sub").mkdir()
    (tmp_path / "here").symlink_to(".")
    (tmp_path / ".env").symlink_to("data/values.txt")
    (tmp_path / "cfg.py").symlink_to(link)
    assert privacy.refuses((tmp_path / "cfg.py").as_uri())
    assert not privacy.refuses((tmp_path / "data" / "values.txt").as_uri())


def test_a_link_that_gets_another_way(
    privacy: Privacy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is noticed although it leads to the same file in the end."""
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    uri = write(tmp_path / "data.txt").replace("data.txt", "cfg.py")
    (tmp_path / "cfg.py").symlink_to("data.txt")
    assert not privacy.refuses(uri)
    (tmp_path / ".env").symlink_to("data.txt")
    (tmp_path / "cfg.py").unlink()
    (tmp_path / "cfg.py").symlink_to(".env")
    assert privacy.refuses(uri)


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
    for name in (".env", "/x/.env", "/home/u/.ssh/config", "/home/u/.aws/config", "x" * 5_000):
        assert privacy.refuses(f"untitled:{name}")
    write(tmp_path / ".gitignore", "private/\n")
    assert privacy.refuses(f"untitled:{tmp_path}/private/new.py")
    assert not privacy.refuses(f"untitled:{tmp_path}/new.py")
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


def test_the_users_own_ignore_file(
    privacy: Privacy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Git's global excludes count in a repository and elsewhere; the repository's own files win over them."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    uri = write(tmp_path / "deep" / "notes.py")
    assert not privacy.refuses(uri)
    write(home / ".gitconfig", "[core]\nexcludesFile = ~/.ignored\n")
    write(home / ".ignored", "notes.py\n")
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    assert privacy.refuses(uri)
    assert privacy.refuses(write(home / "loose" / "notes.py"))
    write(tmp_path / ".gitignore", "!notes.py\n")
    assert not privacy.refuses(uri)


def test_excludes_of_a_linked_working_tree(privacy: Privacy, tmp_path: Path) -> None:
    """A linked working tree has the exclude list of its repository."""
    write(tmp_path / ".git" / "info" / "exclude", "mine.py\n")
    write(tmp_path / ".git" / "worktrees" / "w" / "commondir", "../..\n")
    write(tmp_path / "w" / ".git", f"gitdir: {tmp_path}/.git/worktrees/w\n")
    assert privacy.refuses(write(tmp_path / "w" / "mine.py"))


def test_deeper_negations(privacy: Privacy, tmp_path: Path) -> None:
    """A later line and a deeper file take back what was ruled out, as far as its folder is not."""
    write(tmp_path / ".gitignore", "*.gen.py\n!keep.gen.py\n/out/*\n!/out/src/\n")
    write(tmp_path / "a" / "b" / ".gitignore", "!*.gen.py\nlast.gen.py\n")
    refused = ["x.gen.py", "a/x.gen.py", "a/b/last.gen.py", "out/x.py"]
    allowed = ["keep.gen.py", "a/b/x.gen.py", "out/src/x.py"]
    assert [name for name in refused if not privacy.refuses(write(tmp_path / name))] == []
    assert [name for name in allowed if privacy.refuses(write(tmp_path / name))] == []


@pytest.mark.parametrize(
    ("files", "refused"),
    [
        ({".git/info/exclude": "*.local.py\n", ".gitignore": "/*\n!/src/\n"}, "src/settings.local.py"),
        ({".git/info/exclude": "notes.py\n", ".gitignore": "build/\n!/src/\n"}, "src/a/notes.py"),
        ({".gitignore": "private.py\n", "src/.gitignore": "!keep/\n"}, "src/keep/private.py"),
        ({".gitignore": "*.local.py\n", "sub/.gitignore": "*\n!*/\n!*.txt\n"}, "sub/d/x.local.py"),
    ],
)
def test_a_folder_that_is_taken_back(
    privacy: Privacy, tmp_path: Path, files: dict[str, str], refused: str
) -> None:
    """It is that folder alone: what an earlier file rules out below it stays."""
    for name, text in files.items():
        write(tmp_path / name, text)
    assert privacy.refuses(write(tmp_path / refused))
    assert not privacy.refuses(write(tmp_path / "src" / "keep" / "a.py"))


@pytest.mark.parametrize("text", ["\ufeffkey1.py\n", "key[[:digit:]].py\n", "[\\]k]ey1.py\n", "key?.py\r\n"])
def test_lines_as_git_reads_them(privacy: Privacy, tmp_path: Path, text: str) -> None:
    """A byte order mark is no part of the first pattern; classes and escapes in brackets count."""
    write(tmp_path / ".gitignore", text)
    assert privacy.refuses(write(tmp_path / "key1.py"))


def test_ignore_files_that_take_long(privacy: Privacy, tmp_path: Path) -> None:
    """A project's patterns cannot hold anything up: what takes too long rules out, and the rest goes on."""
    folder = tmp_path / "slow"
    write(folder / ".gitignore", "*a" * 14 + "b\n")
    assert not privacy.refuses(write(folder / ("a" * 60 + ".py")))
    write(folder / "more" / ".gitignore", "".join(f"*[ab]{n}*[ab]*\n" for n in range(10_000)))
    assert privacy.refuses(write(folder / "more" / ("a" * 200 + ".py")))
    write(folder / "many" / ".gitignore", "".join(f"dir{n}/sub{n}/*.o\n" for n in range(5_000)))
    assert not privacy.refuses(write(folder / "many" / "a/b/c/d/e/f/g/h" / "a.py"))
    write(folder / "large" / ".gitignore", "# much\n" * 200_000)
    assert privacy.refuses(write(folder / "large" / "a.py"))
    assert not privacy.refuses(write(tmp_path / "a.py"))


def test_a_git_configuration_that_includes_itself(privacy: Privacy, tmp_path: Path) -> None:
    """It is read once; one that does so by ever new names rules out."""
    config = tmp_path / ".git" / "config"
    write(config, "[include]\n" + "\tpath = config\n" * 4 + "[core]\n\texcludesFile = ../mine\n")
    write(tmp_path / "mine", "mine.py\n")
    assert privacy.refuses(write(tmp_path / "mine.py"))
    assert not privacy.refuses(write(tmp_path / "a.py"))
    write(config, "[include]\n" + "".join(f"\tpath = {'./' * n}config\n" for n in range(4)))
    privacy.forget()
    assert not privacy.refuses(write(tmp_path / "a.py"))
    write(config, "[include]\n" + "\tpath = ../.git/config\n" * 2)
    privacy.forget()
    assert privacy.refuses(write(tmp_path / "a.py"))


def test_changes_are_noticed(privacy: Privacy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without being told: ignore files that come and go, a link that leads elsewhere, a file that grows."""
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    uri = write(tmp_path / "sub" / "a.py")
    assert not privacy.refuses(uri)
    assert not privacy.refuses(uri)
    write(tmp_path / "sub" / ".codeserveignore", "a.py\n")
    assert privacy.refuses(uri)
    (tmp_path / "sub" / ".codeserveignore").unlink()
    assert not privacy.refuses(uri)
    write(tmp_path / ".env")
    link = tmp_path / "link.py"
    link.symlink_to(tmp_path / "sub" / "a.py")
    assert not privacy.refuses(link.as_uri())
    link.unlink()
    link.symlink_to(tmp_path / ".env")
    assert privacy.refuses(link.as_uri())
    privacy.max_bytes = 10
    write(tmp_path / "sub" / "a.py", "x" * 11)
    assert privacy.refuses(uri)


def test_a_verdict_costs_no_look_at_each_pattern(
    privacy: Privacy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While no ignore file changes nothing is decided anew, and the number of verdicts has a bound."""
    decided: list[Path] = []
    decide = privacy.refuses_file

    def counting(path: Path) -> bool:
        decided.append(path)
        return decide(path)

    monkeypatch.setattr(privacy, "refuses_file", counting)
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    uris = [write(tmp_path / f"{i}.py") for i in range(3)]
    for _ in range(5):
        assert not any(privacy.refuses(uri) for uri in uris)
    assert len(decided) == 3
    for i in range(2 * module.MAX_VERDICTS):
        privacy.refuses(f"untitled:{i}")
    assert len(privacy._verdicts) <= module.MAX_VERDICTS + 1


def test_rules_that_change_while_a_file_is_decided_on(
    privacy: Privacy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was decided by rules that another thread has seen change meanwhile is decided again."""
    file = write(tmp_path / "a.py")
    decide = privacy.refuses_file

    def overtaken(path: Path) -> bool:
        refused = decide(path)
        (tmp_path / ".gitignore").write_text("a.py\n")
        privacy._looked = 0.0
        privacy.refuses("untitled:b.py")  # as the other thread asks, which notices the change
        return refused

    with monkeypatch.context() as patch:
        patch.setattr(privacy, "refuses_file", overtaken)
        assert not privacy.refuses(file)
    assert privacy.refuses(file)


def test_rules_that_change_while_a_file_is_looked_at_again(
    privacy: Privacy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verdict that another thread has seen overtaken is not kept because the file is where it was."""
    file = write(tmp_path / "a.py")
    assert not privacy.refuses(file)
    holds = privacy._holds

    def overtaken(uri: str, known: module._Verdict) -> bool:
        held = holds(uri, known)
        (tmp_path / ".gitignore").write_text("a.py\n")
        privacy._looked = 0.0
        privacy.refuses("untitled:b.py")
        return held

    with monkeypatch.context() as patch:
        patch.setattr(privacy, "_holds", overtaken)
        privacy.refuses(file, fresh_s=0.0)
    assert privacy.refuses(file)
