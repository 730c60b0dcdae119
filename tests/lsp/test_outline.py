"""Declarations and imports by the look of lines."""

from __future__ import annotations

import os.path
from pathlib import Path

import pytest

from codeserve_lsp.outline import imported_files, outline

PYTHON = '''import os
LIMIT = 3

@dataclass
class Box:
    """A box."""
    size: int

    def fill(
        self, what: str,
        count: int = 1,
    ) -> None:
        inner = 1
        def nested(): ...

async def main(): return 1
'''


def test_python() -> None:
    """Constants, classes, functions and methods with whole signatures; bodies and nested ones stay out."""
    assert outline(PYTHON, "python", 1000).split("\n") == [
        "LIMIT = 3",
        "@dataclass",
        "class Box:",
        "    def fill(",
        "        self, what: str,",
        "        count: int = 1,",
        "    ) -> None:",
        "async def main(): return 1",
    ]


OTHERS = {
    "typescript": """
import x
+export interface A {
  b: c
}
+const f = 1
  const g = 2
""",
    "rust": """
use x;
+pub fn f(a: u8) {
    let b = 1;
}
+impl A {
+    fn g() {}
}
""",
    "go": """
package p
+func F(
+	a int,
+) {
	x := 1
}
+type T struct{}
""",
    "c": """
#include <a.h>
+#define N 3
+int f(int a) {
  return g(a);
}
+struct S {
""",
    "java": """
package p;
+public class A {
+    public int f() {
        int x;
    }
}
""",
    "ruby": """
require 'x'
+class A
+  def f
    x
  end
end
""",
    "cobol": """
IDENTIFICATION DIVISION.
""",
}


@pytest.mark.parametrize("language", OTHERS)
def test_languages(language: str) -> None:
    """Declarations of other languages, here marked with a plus; nothing for one that is not known."""
    lines = OTHERS[language].split("\n")
    kept = [line[1:] for line in lines if line.startswith("+")]
    text = "\n".join(line.removeprefix("+") for line in lines)
    assert outline(text, language, 1000).split("\n") == (kept or [""])


def test_limit_is_in_whole_lines() -> None:
    """What does not fit is left out by the line."""
    assert outline("A = 1\nB = 2\n", "python", 11) == "A = 1"
    assert outline("A = 1\nB = 2\n", "python", 12) == "A = 1\nB = 2"


def test_python_imports(tmp_path: Path) -> None:
    """Absolute ones below the file and the workspace folders, relative ones from their package."""
    path = tmp_path / "pkg" / "sub" / "a.py"

    def files(text: str) -> list[str]:
        found = imported_files(text, "python", path, [tmp_path])
        return [str(each.relative_to(tmp_path)) for each in found]

    assert "pkg/sub/b.py" in files("from .b import C")
    assert "pkg/c.py" in files("from .. import c  # d")
    assert "pkg/d.py" not in files("from .. import c  # d")
    assert "pkg/x/y.py" in files("from ..x import y")
    assert "src/other/mod.py" in files("import other.mod")
    assert "pkg/sub/util.py" in files("    import util")
    assert files("important = 1") == []


def test_more_dots_than_folders() -> None:
    """An import that leads above the root means no file."""
    path = Path("/a/b.py")
    assert list(imported_files("from ... import x", "python", path, [])) == []
    assert Path("/x.py") in list(imported_files("from .. import x", "python", path, []))


def test_other_imports(tmp_path: Path) -> None:
    """Relative imports of scripts, quoted includes, and Rust's modules."""
    path = tmp_path / "src" / "a.x"
    cases = [
        ("typescript", 'import {a} from "./b"', "src/b.ts"),
        ("javascript", "const c = require('../c.js')", "c.js"),
        ("cpp", '#include "d.h"', "include/d.h"),
        ("rust", "pub mod e;", "src/e.rs"),
    ]
    for language, text, found in cases:
        files = imported_files(text, language, path, [tmp_path])
        assert str(tmp_path / found) in [os.path.normpath(each) for each in files]
    assert list(imported_files('import x from "react"', "typescript", path, [])) == []
    assert list(imported_files("import x", "haskell", path, [])) == []
