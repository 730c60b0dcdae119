"""Which files of an archive are read."""

from pathlib import Path

from tests.training.archives import MIT, tarball, wheel
from training.data.sources import read_archive


def test_wheel(tmp_path: Path) -> None:
    """Source files with their line ends put right; no vendored copies, no folders under other licences, no
    binaries.
    """
    files = {
        "demo/a.py": "x = 1\r\ny = 2\r\n",
        "demo/_vendor/b.py": "x",
        "demo/theirs/LICENSE": "GNU GENERAL PUBLIC LICENSE",
        "demo/theirs/deep/c.py": "x",
        "demo/ours/LICENSE": MIT,
        "demo/ours/d.py": "ours",
        "demo/e_pb2.py": "x",
        "demo/f.so": "x",
        "demo-1.0.dist-info/licenses/LICENSE": MIT,
    }
    contents = read_archive(wheel(tmp_path / "a.whl", files))
    assert (contents.name, contents.version, contents.licence) == ("demo", "1.0", "MIT")
    assert contents.files == [("demo/a.py", "x = 1\ny = 2\n"), ("demo/ours/d.py", "ours")]


def test_tarball(tmp_path: Path) -> None:
    """Scripts as they were written: no builds, no minified files, no declarations."""
    files = {
        "src/a.ts": "let a = 1;\n",
        "src/a.d.ts": "x",
        "dist/a.js": "x",
        "lib/b.js": "b",
        "lib/b.min.js": "x",
        "LICENSE": MIT,
    }
    contents = read_archive(tarball(tmp_path / "a.tgz", files))
    assert contents.licence == "MIT"
    assert contents.files == [("lib/b.js", "b"), ("src/a.ts", "let a = 1;\n")]


def test_other_licences(tmp_path: Path) -> None:
    """A package that must not be used gives no files, unless they are to be compared with."""
    path = wheel(tmp_path / "a.whl", {"demo/a.py": "x"}, licence="GPL-3.0-only")
    assert read_archive(path).files == []
    assert read_archive(path, any_licence=True).files == [("demo/a.py", "x")]


def test_files_disagree_with_the_metadata(tmp_path: Path) -> None:
    """Metadata that says MIT does not help a package that carries the GPL."""
    files = {"demo-1.0.dist-info/licenses/COPYING": "GNU GENERAL PUBLIC LICENSE", "demo/a.py": "x"}
    assert read_archive(wheel(tmp_path / "a.whl", files)).licence == ""


def test_licences_that_are_kept_with_the_metadata(tmp_path: Path) -> None:
    """What a wheel copies to its metadata (PEP 639) speaks for the folder that it comes from."""
    licences = "demo-1.0.dist-info/licenses"
    files = {
        f"{licences}/LICENSE": MIT,
        f"{licences}/demo/theirs/LICENSE": "GNU GENERAL PUBLIC LICENSE",
        "demo/a.py": "x",
        "demo/theirs/b.py": "x",
    }
    contents = read_archive(wheel(tmp_path / "a.whl", files))
    assert (contents.licence, contents.files) == ("MIT", [("demo/a.py", "x")])
    files[f"{licences}/LICENSES/GPL-3.0-only.txt"] = "GNU GENERAL PUBLIC LICENSE"
    assert read_archive(wheel(tmp_path / "b.whl", files)).licence == ""
