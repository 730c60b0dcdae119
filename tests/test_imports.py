"""The import rules of the design: what may import what, and how heavy the base install is."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def imports(path: Path) -> Iterator[str]:
    """Every module name that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            base = node.module or ""
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def offenders(folder: str, banned: set[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files(folder)
        for name in imports(path)
        if name.split(".")[0] in banned
    ]


def test_completion_is_pure() -> None:
    """completion/ imports neither vLLM, torch and transformers nor websockets and asyncio."""
    assert files("codeserve/completion")
    assert not offenders("codeserve/completion", {"vllm", "torch", "transformers", "websockets", "asyncio"})


def test_completion_reads_no_other_part() -> None:
    """completion/ imports of codeserve only itself, protocol, wire, syntax and errors."""
    parts = ("completion", "protocol", "wire", "syntax", "errors")
    allowed = tuple(f"codeserve.{part}" for part in parts)
    found = {n for p in files("codeserve/completion") for n in imports(p) if n.startswith("codeserve.")}
    assert not [n for n in found if not n.startswith(allowed)]


def test_language_server_uses_protocol_and_client_only() -> None:
    """lsp/ imports of codeserve only `protocol`, `client` and the parsers of `syntax`."""
    allowed = ("codeserve.protocol", "codeserve.client", "codeserve.syntax", "codeserve_lsp")
    found = {n for p in files("lsp") for n in imports(p) if n.split(".")[0].startswith("codeserve")}
    assert not [n for n in found if n != "codeserve" and not n.startswith(allowed)]


def test_vllm_is_imported_by_the_engine_only() -> None:
    """Only engine/ imports vLLM and torch, and nothing imports them at module level of another part."""
    for folder in ("codeserve/server", "codeserve/bench", "codeserve/commands", "lsp"):
        assert not offenders(folder, {"vllm", "torch", "transformers"})


@pytest.mark.parametrize("module", ["codeserve.protocol", "codeserve.client", "codeserve.cli"])
def test_base_install_is_light(module: str) -> None:
    """The client, the protocol and the command line load nothing heavy."""
    heavy = {"torch", "vllm", "transformers", "numpy", "tokenizers", "pydantic"}
    code = f"import sys, {module}; print(sorted({heavy!r} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
