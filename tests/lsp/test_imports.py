"""What documents import, by their syntax trees."""

from __future__ import annotations

import pytest

from codeserve_lsp.imports import imports
from codeserve_lsp.parsing import Pace

CASES = {
    "python": (
        "import os, a.b as c\nfrom ..x import (y as z, w)\nfrom . import q\nfrom m import *\n"
        "if TYPE_CHECKING:\n    from n import o\ndef f():\n    import lazy\nimport os\n",
        [
            ("os", ()),
            ("a.b", ()),
            ("..x", ("y", "w")),
            (".", ("q",)),
            ("m", ()),
            ("n", ("o",)),
            ("lazy", ()),
        ],
    ),
    "typescript": (
        'import {a as b, C} from "./b"; import D from "@/d"; import * as n from \'./n\'; import "./side";\n'
        'export * from "./e"; export {x} from "./f"; const q = require("./g"); await import("./h");\n'
        'export const z = require("./i")(1); require(name);\n',
        [
            ("./b", ("a", "C")),
            ("@/d", ()),
            ("./n", ()),
            ("./side", ()),
            ("./e", ()),
            ("./f", ("x",)),
            ("./g", ()),
            ("./h", ()),
            ("./i", ()),
        ],
    ),
    "go": (
        'package p\nimport ("fmt"\n x "example.com/m/sub")\nimport `raw`\n',
        [("fmt", ()), ("example.com/m/sub", ()), ("raw", ())],
    ),
    "rust": (
        "mod a; pub mod b { fn c() {} }\nuse crate::x::{y::Z, self, w as v};\npub use super::k::*;\n"
        "use serde as s;\n",
        [
            ("self::a", ()),
            ("crate::x::y::Z", ("Z",)),
            ("crate::x", ("x",)),
            ("crate::x::w", ("w",)),
            ("super::k", ("k",)),
            ("serde", ("serde",)),
        ],
    ),
    "java": (
        "package a;\nimport c.d.E;\nimport static c.d.F.g;\nimport h.*;\nclass A {}\n",
        [("c.d.E", ()), ("c.d.F", ()), ("h.*", ())],
    ),
    "cpp": (
        '#include "a/b.h"\n#include <c.h>\n#ifdef X\n#include "d.h"\n#endif\n',
        [("a/b.h", ()), ("d.h", ())],
    ),
    "cuda-cpp": ('#include "k.cuh"\n__global__ void f() {}\n', [("k.cuh", ())]),
    "ruby": ('require_relative "a/b"\nrequire "c"\nputs "x"\n', [("a/b", ())]),
    "cobol": ("COPY x.", []),
}


@pytest.mark.parametrize("language", CASES)
def test_languages(language: str) -> None:
    """Every way to import is seen, each target once, with the names that are taken from it."""
    text, expected = CASES[language]
    assert [(each.target, each.names) for each in imports(text, language, Pace(10))] == expected


def test_code_that_is_being_written() -> None:
    """Imports above unfinished code are found; nonsense is no failure."""
    assert [each.target for each in imports("import a\nfrom b import (\n", "python", Pace(10))][:1] == ["a"]
    for text in ("import", "from", "use ::", "use {", "import (", "require(", "#include", "import ;", "\x00"):
        for language in CASES:
            imports(text, language, Pace(10))


def test_calls_nested_deeper_than_any_code() -> None:
    """They hide no more than what is within them."""
    text = "import a from './a'\n" + "f(" * 5_000 + ")" * 5_000 + "\nimport b from './b'\n"
    assert [found.target for found in imports(text, "javascript", Pace(60.0))] == ["./a", "./b"]
