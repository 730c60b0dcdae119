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
