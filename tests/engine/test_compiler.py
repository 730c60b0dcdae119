"""Whether the CPU's kernels can be compiled here."""

from __future__ import annotations

from pathlib import Path

from codeserve.engine.compiler import missing_for_compiling


def _compiler(folder: Path, name: str = "g++") -> None:
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)


def test_nothing_missing(tmp_path: Path) -> None:
    """A compiler on the path and Python.h are all it takes."""
    _compiler(tmp_path)
    (tmp_path / "Python.h").touch()
    assert missing_for_compiling({}, tmp_path, str(tmp_path)) == []


def test_missing_compiler_is_named(tmp_path: Path) -> None:
    """Without g++ it is named."""
    (tmp_path / "Python.h").touch()
    assert missing_for_compiling({}, tmp_path, str(tmp_path)) == ["a C++ compiler (g++)"]


def test_own_compiler_counts(tmp_path: Path) -> None:
    """CXX, with flags too, names the compiler instead of g++."""
    (tmp_path / "Python.h").touch()
    _compiler(tmp_path, "mycxx")
    assert missing_for_compiling({"CXX": "mycxx -m64"}, tmp_path, str(tmp_path)) == []
    assert missing_for_compiling({"CXX": "other"}, tmp_path, str(tmp_path)) == ["a C++ compiler (other)"]


def test_missing_headers_are_named(tmp_path: Path) -> None:
    """Without Python.h the package to install is named."""
    _compiler(tmp_path)
    assert missing_for_compiling({}, tmp_path, str(tmp_path)) == ["Python's headers (python3-dev)"]


def test_all_that_is_missing_is_named(tmp_path: Path) -> None:
    """Both are named when both are missing, and a compiler that cannot be run is missing."""
    _compiler(tmp_path)
    (tmp_path / "g++").chmod(0o644)
    (tmp_path / "Python.h").mkdir()
    found = missing_for_compiling({}, tmp_path, str(tmp_path))
    assert found == ["a C++ compiler (g++)", "Python's headers (python3-dev)"]


def test_empty_setting_is_none(tmp_path: Path) -> None:
    """An empty or blank CXX counts as none."""
    (tmp_path / "Python.h").touch()
    _compiler(tmp_path)
    for value in ("", "  "):
        assert missing_for_compiling({"CXX": value}, tmp_path, str(tmp_path)) == []


def test_compiler_by_its_path(tmp_path: Path) -> None:
    """CXX may name the compiler by its path, which is then looked for nowhere else."""
    (tmp_path / "Python.h").touch()
    _compiler(tmp_path, "mycxx")
    assert missing_for_compiling({"CXX": str(tmp_path / "mycxx")}, tmp_path, "/none") == []
