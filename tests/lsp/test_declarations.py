"""What files declare, by their syntax trees."""

from __future__ import annotations

import pytest

from codeserve_lsp.declarations import Declaration, declarations, fitting
from codeserve_lsp.parsing import Pace

# What each file is reduced to. Lines that stay are marked: "+" as they are, "=…" as what follows.
FILES = {
    "python": '''
 """About the file."""
 import os
+LIMIT: int = 3
+# About Box.
 # more
+@dataclass
+class Box(Base):
+    """A box."""
     size: int
=    size: int
     def fill(self, what: str) -> None:
=    def fill(self, what: str) -> None:
         """Fill it.

         Raises: Full.
         """
=        """Fill it."""
         def nested(): pass
     @property
=    @property
     def full(
=    def full(
         self,
=        self,
     ) -> bool:
=    ) -> bool: ...
         return True
 class Empty(Exception): pass
=class Empty(Exception):
=    ...
 async def main(): return 1
=async def main(): ...
 print(LIMIT)
 if TYPE_CHECKING:
     def guarded(a):
=def guarded(a): ...
         pass
''',
    "typescript": """
 import {a} from "./b"
 /**
  * Points.
  */
=// Points.
+export interface Point { x: number; y: number }
 export default class Shape extends Base {
=export default class Shape extends Base {
   private n = 1;
=  private n = 1
   constructor(n: number) { super(); }
=  constructor(n: number);
   get area(): number { return 1 }
=  get area(): number;
=}
 }
 export const twice = async (n: number): Promise<number> => { return 2 * n }
=export const twice = async (n: number): Promise<number>;
+export type Id = string | number;
+const K = 3;
+enum E { A, B }
 declare function f(a: string): void
=declare function f(a: string): void;
 namespace N { export function g() {} }
=namespace N {
=    export function g();
=}
 run(1)
""",
    "javascript": """
 exports.f = function (a) { return 1 }
=exports.f = function (a);
 class Q { m(a) { return 1 } }
=class Q {
=    m(a);
=}
""",
    "go": """
 package p
 import "fmt"
+// F does.
 // more
 func F(a int) (int, error) { return 1, nil }
=func F(a int) (int, error)
 func (t *T[K]) M(b string) {}
=func (t *T[K]) M(b string)
+type T struct {
+	A int
+}
+const C = 1
""",
    "rust": """
 use std::x;
 /// A list.
=// A list.
 #[derive(Debug)]
+pub struct S<T> { pub a: T }
 impl<T> S<T> {
=impl<T> S<T> {
     pub fn new(a: T) -> Self { S { a } }
=    pub fn new(a: T) -> Self;
=}
 }
 pub trait Draw { fn draw(&self); }
=pub trait Draw {
=    fn draw(&self);
=}
 pub async fn f(a: &str) -> u8 where u8: Copy { 1 }
=pub async fn f(a: &str) -> u8 where u8: Copy;
""",
    "java": """
 package a.b;
 import c.D;
 /** A tree. */
=// A tree.
+@Deprecated
+public class Tree<T> extends Base implements Plant {
     private int height = 1;
=    private int height = 1;
     public Tree(int height) { this.height = height; }
=    public Tree(int height);
     @Override public T top() throws Fell { return null; }
=    @Override public T top() throws Fell;
=}
 }
""",
    "cpp": """
 #include "a.h"
+#define N 3
 namespace n { class A : public B {
=namespace n {
=    class A : public B {
 public:
=public:
   int f(int x) const { return x; }
=  int f(int x) const;
=    }
=}
 }; }
 template <typename T> T g(T a) { return a; }
=template <typename T> T g(T a);
+int h(void);
 #ifdef X
+int k();
 #endif
""",
    "ruby": """
 require_relative "a"
+module M
+  class A < B
+    X = 1
     def f(a, b = 1)
=    def f(a, b = 1)
       1
     end
=  end
=end
   end
 end
""",
    "php": """
 <?php
 abstract class X extends Y {
=abstract class X extends Y {
   public function f(int $a): int { return 1; }
=  public function f(int $a): int;
=}
 }
""",
    "csharp": """
 namespace N { public class C : D {
=namespace N {
=    public class C : D {
   public int P { get; set; }
=  public int P { get; set; }
   public int F(int a) { return 1; }
=  public int F(int a);
=    }
=}
 } }
""",
    "shellscript": """
 #!/bin/sh
 build() { make; }
=build()
""",
}


@pytest.mark.parametrize("language", FILES)
def test_languages(language: str) -> None:
    """Heads, signatures and constants stay with the first line of their documentation; bodies go."""
    marked = FILES[language].strip("\n").split("\n")
    text = "\n".join(line[1:] for line in marked if not line.startswith("="))
    kept = [line[1:] for line in marked if line.startswith(("+", "="))]
    found = declarations(text, language, Pace(10))
    assert found is not None
    assert fitting(found, 10_000).split("\n") == kept


def names(text: str, language: str) -> list[str]:
    found = declarations(text, language, Pace(10))
    assert found is not None
    return [each.name for each in found]


def test_names() -> None:
    """A declaration goes by what it is imported as; a method by its type."""
    assert names("@d\nclass A: pass\ndef f(): pass\nB = 1\nC: int\n", "python") == ["A", "f", "B", "C"]
    assert names("export class A<T> {}\nexport const f = () => 1;", "typescript") == ["A", "f"]
    assert names("pub struct S;\nimpl<T> S<T> { fn f() {} }", "rust") == ["S", "S"]
    assert names("package p\nfunc (t *T[K]) M() {}\ntype T struct{}", "go") == ["T", "T"]


def test_no_grammar() -> None:
    """A language without a grammar has no answer, a file without declarations an empty one."""
    assert declarations("x", "cobol", Pace(10)) is None
    assert declarations("print(1)\n", "python", Pace(10)) == []


def test_broken_code() -> None:
    """What can be read of a file that does not parse is read."""
    assert names("def f(a):\n    return (\n\nclass A:\n    x = 1\n", "python")[:1] == ["f"]
    for text in ("class", "def f(", "@", "\x00", "{" * 100, "class A {\n", "}" * 50):
        for language in FILES:
            declarations(text, language, Pace(10))


def test_what_is_long_is_cut() -> None:
    """Of a long constant its first line stays, of a long line nothing; there is an end to all."""
    table = "T = {\n" + "".join(f"    {i}: 'x',\n" for i in range(200)) + "}\n"
    found = declarations(table + "L = [" + "1, " * 500 + "]\n", "python", Pace(10))
    assert found is not None
    assert [each.lines for each in found] == [["T = {"]]
    many = declarations("A = 1\n" * 3_000, "python", Pace(10))
    assert many is not None
    assert len(many) == 2_000


def test_long_rows_of_marks() -> None:
    """A comment that holds a row of marks without an end, or a receiver of one long word, is soon over."""
    row = "*" * 100_000
    assert names(f"A = 1\n\n\n# x{row}x\ndef f(): pass\n", "python") == ["A", "f"]
    assert len(names(f"package p\nfunc (a {'b' * 100_000}<) f() {{}}\n", "go")) <= 1


def test_wanted_ones_come_first_into_the_limit() -> None:
    """Within the limit: what is asked for, then the rest in its order, private ones last."""
    found = [Declaration(name, [f"def {name}()"]) for name in ("_a", "b", "c", "d")]
    line = len("def b()") + 1
    assert fitting(found, 4 * line).split("\n") == ["def _a()", "def b()", "def c()", "def d()"]
    assert fitting(found, 3 * line - 1).split("\n") == ["def b()", "def c()", "def d()"]
    assert fitting(found, 2 * line, {"d", "_a"}).split("\n") == ["def _a()", "def d()"]
    assert fitting(found, 0) == ""
    assert fitting([], 100) == ""


def test_one_that_does_not_fit_is_cut_at_a_line() -> None:
    """The one that is asked for goes in as far as it fits, also behind others."""
    long = Declaration("A", ["class A:", "    def f(): ...", "    def g(): ..."])
    assert fitting([long], 30) == "class A:\n    def f(): ..."
    assert fitting([Declaration("b", ["b = 1"]), long], 30, {"A"}) == "class A:\n    def f(): ..."
