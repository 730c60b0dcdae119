"""Where imported files are on disk."""

from __future__ import annotations

import os.path
from pathlib import Path

import pytest

from codeserve_lsp.imports import Import
from codeserve_lsp.resolve import MAX_PACKAGE, beside, language_of, places


def tree(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")


def found(root: Path, language: str, at: str, target: str, *names: str) -> list[str]:
    """The files that exist, the first of each place."""
    files = []
    for alternatives in places(Import(target, names), language, root / at, [root]):
        for each in alternatives:
            if each.is_file():
                files.append(os.path.relpath(os.path.normpath(each), root))
                break
    return files


def test_python(tmp_path: Path) -> None:
    """From the document's package, its folder, the workspace and its src; a name may be a module."""
    tree(tmp_path, "pkg/__init__.py", "pkg/a.py", "pkg/sub/__init__.py", "pkg/sub/b.py", "src/other/mod.py")
    tree(tmp_path, "services/api/app/__init__.py", "services/api/app/db.py", "pkg/sub/util.py", "t/x.pyi")
    cases = [
        ("pkg/sub/m.py", "..a", (), ["pkg/a.py"]),
        ("pkg/sub/m.py", ".", ("b", "nothing"), ["pkg/sub/__init__.py", "pkg/sub/b.py"]),
        ("pkg/sub/m.py", "util", (), ["pkg/sub/util.py"]),
        ("main.py", "pkg.sub", ("b",), ["pkg/sub/__init__.py", "pkg/sub/b.py"]),
        ("main.py", "other.mod", (), ["src/other/mod.py"]),
        ("services/api/app/views.py", "app.db", ("Session",), ["services/api/app/db.py"]),
        ("main.py", "t.x", (), ["t/x.pyi"]),
        ("main.py", "requests", (), []),
        ("main.py", "...x", ("y",), []),
    ]
    for at, target, names, expected in cases:
        assert found(tmp_path, "python", at, target, *names) == expected, target
    assert list(places(Import("....x"), "python", Path("/a/b.py"), [])) == [[]]


def test_scripts(tmp_path: Path) -> None:
    """Relative ones with any ending or as a folder's index, compiled names, and the project's own root."""
    tree(tmp_path, "src/a.ts", "src/b/index.tsx", "src/c.js", "src/d.d.ts", "src/lib/e.ts", "index.js")
    cases = [
        ("./a", ["src/a.ts"]),
        ("./a.js", ["src/a.ts"]),
        ("./b", ["src/b/index.tsx"]),
        ("./c.js", ["src/c.js"]),
        ("./d", ["src/d.d.ts"]),
        ("@/lib/e", ["src/lib/e.ts"]),
        ("..", ["index.js"]),
        ("react", []),
    ]
    for target, expected in cases:
        assert found(tmp_path, "typescript", "src/m.ts", target) == expected, target


def test_go(tmp_path: Path) -> None:
    """A package of the own module is the files of its folder, without tests; another module is none."""
    tree(tmp_path, "svc/sub/a.go", "svc/sub/b.go", "svc/sub/b_test.go", "svc/main.go", "svc/x/deep/m.go")
    (tmp_path / "svc" / "go.mod").write_text("// one\nmodule example.com/m\n")
    assert found(tmp_path, "go", "svc/x/deep/m.go", "example.com/m/sub") == ["svc/sub/a.go", "svc/sub/b.go"]
    assert found(tmp_path, "go", "svc/main.go", "example.com/m") == ["svc/main.go"]
    for other in ("fmt", "example.com/more/sub", "example.com/m/none"):
        assert found(tmp_path, "go", "svc/main.go", other) == []
    (tmp_path / "svc" / "go.mod").unlink()
    assert found(tmp_path, "go", "svc/main.go", "example.com/m/sub") == []


def test_rust(tmp_path: Path) -> None:
    """Modules below a file, in the crate, above, by the crate's own name, and of the crate beside."""
    tree(tmp_path, "one/src/lib.rs", "one/src/a.rs", "one/src/b/mod.rs", "one/src/b/c.rs", "one/src/a/d.rs")
    tree(tmp_path, "my-util/src/lib.rs", "my-util/Cargo.toml", "one/tests/t.rs")
    (tmp_path / "one" / "Cargo.toml").write_text('[package]\nname = "the-one"\n')
    cases = [
        ("one/src/lib.rs", "self::a", ["one/src/a.rs"]),
        ("one/src/a.rs", "self::d", ["one/src/a/d.rs"]),
        ("one/src/a.rs", "crate::b::c::Thing", ["one/src/b/c.rs"]),
        ("one/src/a/d.rs", "crate::Thing", ["one/src/lib.rs"]),
        ("one/src/b/c.rs", "super::Thing", ["one/src/b/mod.rs"]),
        ("one/src/b/c.rs", "super::super::a::Thing", ["one/src/a.rs"]),
        ("one/tests/t.rs", "the_one::a::Thing", ["one/src/a.rs"]),
        ("one/src/a.rs", "my_util::Thing", ["my-util/src/lib.rs"]),
        ("one/src/a.rs", "serde::Serialize", []),
    ]
    for at, target, expected in cases:
        assert found(tmp_path, "rust", at, target) == expected, target
    tree(tmp_path, "loose/x.rs")
    assert found(tmp_path, "rust", "loose/m.rs", "crate::x") == ["loose/x.rs"]
    assert found(tmp_path, "rust", "loose/m.rs", "serde") == []


def test_java(tmp_path: Path) -> None:
    """Classes below the source root, those of a whole package, inner ones, and main's from a test."""
    main = "src/main/java"
    tree(tmp_path, f"{main}/a/b/C.java", f"{main}/a/d/E.java", f"{main}/a/d/F.java", "src/test/java/a/T.java")
    at = f"{main}/a/b/C.java"
    assert found(tmp_path, "java", at, "a.d.E") == [f"{main}/a/d/E.java"]
    assert found(tmp_path, "java", at, "a.d.E.Inner") == [f"{main}/a/d/E.java"]
    assert found(tmp_path, "java", at, "a.d.*") == [f"{main}/a/d/E.java", f"{main}/a/d/F.java"]
    assert found(tmp_path, "java", "src/test/java/a/T.java", "a.b.C") == [at]
    for other in ("java.util.List", "none.*", "Single"):
        assert found(tmp_path, "java", at, other) == []
    tree(tmp_path, "p/Q.java")
    assert found(tmp_path, "java", "R.java", "p.Q") == ["p/Q.java"]
    assert list(places(Import("p.Q"), "java", Path("/x/y/R.java"), []))


def test_includes_and_ruby(tmp_path: Path) -> None:
    """Beside the file and in the workspace's include folders."""
    tree(tmp_path, "include/a.h", "src/b.h", "lib/c.rb")
    assert found(tmp_path, "cpp", "src/m.cpp", "a.h") == ["include/a.h"]
    assert found(tmp_path, "c", "src/m.c", "b.h") == ["src/b.h"]
    assert found(tmp_path, "ruby", "lib/m.rb", "c") == ["lib/c.rb"]


@pytest.mark.parametrize("language", ["python", "typescript", "go", "rust", "java", "cpp", "ruby", "cobol"])
def test_odd_targets(tmp_path: Path, language: str) -> None:
    """Nonsense means no file and is no failure."""
    (tmp_path / "go.mod").write_text("module \n")
    for target in ("", ".", "..", "/", "./" * 5, "::", "*", ".*", "a\0b", "crate", "self", "super::super"):
        assert "m.x" not in found(tmp_path, language, "m.x", target, "", "*", "a b")


def test_same_package(tmp_path: Path) -> None:
    """Files beside a document that it needs not import: in Java by the class's name, in Go all but tests."""
    tree(tmp_path, "a/A.java", "a/B.java", "a/C.java", "g/a.go", "g/a_test.go", "g/m.go")
    java = beside("java", tmp_path / "a" / "A.java", "class A { B b; }")
    assert [file.name for file in java] == ["B.java"]
    assert [file.name for file in beside("go", tmp_path / "g" / "m.go", "")] == ["a.go"]
    assert list(beside("go", tmp_path / "none" / "m.go", "")) == []
    assert list(beside("python", tmp_path / "g" / "m.py", "")) == []
    tree(tmp_path, *(f"g/f{i}.go" for i in range(20)))
    assert len(list(beside("go", tmp_path / "g" / "m.go", ""))) == MAX_PACKAGE


def test_language_of_an_imported_file() -> None:
    """By its ending, whatever an editor calls it, else that of the importing document."""
    assert language_of(Path("a.tsx"), "javascript") == "typescriptreact"
    assert language_of(Path("run.sh"), "sh") == "shellscript"
    assert language_of(Path("a.h"), "cpp") == "cpp"
