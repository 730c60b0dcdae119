"""What is read of other files, on a workspace on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from codeserve_lsp import collect as module
from codeserve_lsp.collect import Collector, Job, Source
from codeserve_lsp.parsing import TooSlow
from codeserve_lsp.privacy import Privacy

Collect = Callable[..., dict[str, str]]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def source(path: Path, text: str, language: str = "python") -> Source:
    return Source(path.as_uri(), path, language, text)


@pytest.fixture
def collector(tmp_path: Path) -> Collector:
    privacy = Privacy()
    privacy.folders = [tmp_path]
    return Collector(privacy.refuses, lambda path: str(path.relative_to(tmp_path)))


@pytest.fixture
def collect(collector: Collector, tmp_path: Path) -> Collect:
    """The snippets of a document with this text, by path in their order."""

    def run(
        name: str, head: str, language: str = "python", opened: tuple[Source, ...] = (), budget: int = 6_000
    ) -> dict[str, str]:
        job = Job(tmp_path / name, language, head, list(opened), [tmp_path], budget)
        return {piece.snippet.path: piece.snippet.text for piece in collector.collect(job)}

    return run


def test_what_is_no_file_is_not_waited_for(collect: Collect, tmp_path: Path) -> None:
    """Pipes without a writer in place of a package's files and of its manifest are passed over."""
    write(tmp_path / "a.go", "package p\n\nfunc A() int\n")
    for name in ("b.go", "go.mod"):
        os.mkfifo(tmp_path / name)
    assert list(collect("m.go", 'package p\n\nimport "x/y"\n', language="go")) == ["a.go"]


FILLER = "".join(f"def filler_{i}(a): return a\n" for i in range(400))


def test_imports_then_open_files_of_the_language(collect: Collect, tmp_path: Path) -> None:
    """Imported files come first in the order of imports, then open ones, other languages last."""
    write(tmp_path / "b.py", "B = 1")
    write(tmp_path / "a.py", "A = 1")
    opened = (source(tmp_path / "n.md", "# N", "markdown"), source(tmp_path / "o.py", "O = 1"))
    assert list(collect("m.py", "import b\nimport a\nimport m\n", opened=opened)) == [
        "b.py",
        "a.py",
        "o.py",
        "n.md",
    ]
    assert list(collect("m.py", "", opened=opened)) == ["o.py", "n.md"]


def test_an_imported_file_that_is_open(collect: Collect, tmp_path: Path) -> None:
    """Its text is the editor's, with what is imported from it."""
    file = write(tmp_path / "a.py", "OLD = 1")
    found = collect(
        "m.py", "from a import Last\n", opened=(source(file, FILLER + "class Last: pass\n"),), budget=900
    )
    assert "class Last:" in found["a.py"]
    assert "OLD" not in found["a.py"]
    assert len(found["a.py"]) <= 300


def test_short_files_go_whole(collect: Collect, tmp_path: Path) -> None:
    """A short file is taken as it is, a long one by its declarations."""
    write(tmp_path / "short.py", "print(1)\n")
    write(tmp_path / "long.py", FILLER)
    found = collect("m.py", "import short, long\n")
    assert found["short.py"] == "print(1)"
    assert found["long.py"].startswith("def filler_0(a): ...\n")


def test_through_a_package(collect: Collect, tmp_path: Path) -> None:
    """A name that a package only passes on is looked for where it is from."""
    write(tmp_path / "pkg" / "__init__.py", "from .impl import Box\nfrom .other import Else\n")
    write(tmp_path / "pkg" / "impl.py", "class Box: pass")
    write(tmp_path / "pkg" / "other.py", "class Else: pass")
    assert list(collect("m.py", "from pkg import Box\n")) == ["pkg/impl.py", "pkg/__init__.py"]
    write(tmp_path / "lib" / "index.ts", 'export * from "./impl";')
    write(tmp_path / "lib" / "impl.ts", "export class Box {}")
    found = collect("m.ts", 'import {Box} from "./lib";', "typescript")
    assert list(found) == ["lib/impl.ts", "lib/index.ts"]


def test_files_of_the_same_package(collect: Collect, tmp_path: Path) -> None:
    """What needs no import goes along as well."""
    write(tmp_path / "p" / "B.java", "class B { int size() { return 1; } }")
    assert list(collect("p/A.java", "package p; class A { B b; }", "java")) == ["p/B.java"]


def test_what_must_stay_here(collect: Collect, tmp_path: Path) -> None:
    """No ignored or secret file, none behind a link out of the workspace, and none that cannot be read."""
    write(tmp_path / ".gitignore", "hidden/\n*_local.py\n!ok_local.py\n")
    write(tmp_path / ".codeserveignore", "mine.py\n")
    head = "import hidden.a, dev_local, ok_local, mine, linked, binary, gone, id_rsa\n"
    for name in ("hidden/a.py", "dev_local.py", "ok_local.py", "mine.py", "id_rsa.py"):
        write(tmp_path / name, "X = 1")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe")
    outside = write(tmp_path.parent / f"{tmp_path.name}-out" / "o.py", "O = 1")
    (tmp_path / "linked.py").symlink_to(outside)
    assert list(collect("m.py", head)) == ["ok_local.py"]


def test_a_package_passes_nothing_on_that_must_stay(collect: Collect, tmp_path: Path) -> None:
    """An ignored package file is not even read for what it passes on."""
    write(tmp_path / ".gitignore", "__init__.py\nimpl.py\n")
    write(tmp_path / "pkg" / "__init__.py", "from .open import Box\n")
    write(tmp_path / "pkg" / "open.py", "class Box: pass")
    assert collect("m.py", "from pkg import Box\n") == {}


def test_read_once(collect: Collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is read again only when it has changed, and what is kept has a bound."""
    read: list[str] = []
    original = module.declarations
    monkeypatch.setattr(
        module, "declarations", lambda text, *rest: read.append(text) or original(text, *rest)
    )
    monkeypatch.setattr(module, "KEPT_FILES", 2)
    write(tmp_path / "a.py", FILLER)
    for _ in range(3):
        collect("m.py", "import a\n")
    assert len(read) == 1
    write(tmp_path / "a.py", FILLER + "LAST = 1\n")
    assert collect("m.py", "from a import LAST\n")["a.py"].endswith("LAST = 1")
    assert len(read) == 2
    for name in "bcd":
        write(tmp_path / f"{name}.py", "X = 1")
    assert len(collect("m.py", "import b, c, d\n")) == 3


def test_languages_without_a_grammar(collect: Collect, tmp_path: Path) -> None:
    """They are read by the look of their lines; of what is not known only a short file goes."""
    long = "class A {\n  val x = 1\n}\n" + "// filler\n" * 400
    opened = (source(tmp_path / "a.kt", long, "kotlin"), source(tmp_path / "a.cob", "MOVE. " * 400, "cobol"))
    assert collect("m.py", "", opened=opened) == {"a.kt": "class A {"}


def test_what_takes_too_long(collect: Collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that takes too long to parse is scanned; imports that do leave the open files."""
    write(tmp_path / "a.py", FILLER)

    def slow(*_: object) -> None:
        raise TooSlow

    monkeypatch.setattr(module, "declarations", slow)
    assert collect("m.py", "import a\n")["a.py"].startswith("def filler_0(a): return a\n")
    monkeypatch.setattr(module, "imports", slow)
    assert collect("m.py", "import a\n", opened=(source(tmp_path / "o.py", "O = 1"),)) == {"o.py": "O = 1"}


def test_number_of_imports(collect: Collect, tmp_path: Path) -> None:
    """Only so many files go along, whatever is imported."""
    for i in range(40):
        write(tmp_path / f"f{i}.py", "X = 1")
    assert len(collect("m.py", "".join(f"import f{i}\n" for i in range(40)))) == module.MAX_IMPORTS


def test_many_files_share_the_budget(collect: Collect, tmp_path: Path) -> None:
    """With many imports each has a smaller share, and all of them keep to the budget."""
    for i in range(10):
        write(tmp_path / f"f{i}.py", FILLER)
    found = collect("m.py", "".join(f"from f{i} import filler_99\n" for i in range(10)))
    assert list(found) == [f"f{i}.py" for i in range(8)]
    assert all("def filler_99(a): ..." in text for text in found.values())
    assert sum(map(len, found)) + sum(map(len, found.values())) <= 6_000


def test_what_is_kept_is_bounded_by_size(
    collector: Collector, collect: Collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many big files the ones read last are kept, no more than so many characters of them."""
    monkeypatch.setattr(module, "KEPT_CHARS", 30_000)
    for i in range(6):
        write(tmp_path / f"f{i}.py", FILLER)
        collect("m.py", f"import f{i}\n")
    size = sum(module._size(read) for read in collector._kept.values())
    assert 10_000 < size <= 30_000
    assert size == collector._size
    assert next(reversed(collector._kept))[0] == tmp_path / "f5.py"
