"""Declarations by the look of lines."""

from __future__ import annotations

import pytest

from codeserve_lsp.scan import outline

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
