"""The command line of the language server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from codeserve_lsp import __version__
from codeserve_lsp.cli import main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """It says its version and ends."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"codeserve-lsp {__version__}\n"


def test_log_file_that_cannot_be_written(tmp_path: Path) -> None:
    """One line says so."""
    with pytest.raises(SystemExit, match="cannot be written"):
        main(["--log-file", str(tmp_path / "none" / "log")])


def test_ends_with_its_editor() -> None:
    """When the editor is gone the process ends, and has printed nothing."""
    run = subprocess.run(
        [sys.executable, "-m", "codeserve_lsp.cli"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_imports_nothing_heavy() -> None:
    """The whole server loads no engine, no tokenizer and no numpy, and a grammar only when it parses."""
    heavy = "{'vllm', 'torch', 'tokenizers', 'numpy', 'rich', 'tree_sitter_python', 'tree_sitter_cpp'}"
    code = f"import sys, codeserve_lsp.server; print(*{heavy} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "\n"


def test_types_of_the_protocol_print_no_text() -> None:
    """Parameters that are printed hold no source code; only the types of the protocol are made so."""
    code = """if True:
        import attrs
        from codeserve_lsp.cli import _load_types
        before = attrs.define
        _load_types()
        from lsprotocol.types import Position, Range, TextEdit
        edit = TextEdit(Range(Position(0, 0), Position(0, 1)), "secret")
        print("secret" in repr(edit), Position(0, 1) == Position(0, 1), attrs.define is before)
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False True True\n"
