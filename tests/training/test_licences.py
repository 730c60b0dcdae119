"""Which licences are permissive, by metadata and by text."""

import pytest

from training.data.licences import (
    copyleft_header,
    expression_of,
    foreign_folders,
    is_permissive,
    of_text,
    package_licence,
)

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"
GPL = "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007"
APACHE = (
    "                                 Apache License\n                           Version 2.0, January 2004"
)
GPL_CLASSIFIER = "License :: OSI Approved :: GNU General Public License v3 (GPLv3)"


@pytest.mark.parametrize(
    ("expression", "good"),
    [
        ("MIT", True),
        ("Apache-2.0 AND BSD-3-Clause", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("(GPL-3.0-only OR MIT) AND ISC", True),
        ("(MIT OR ISC) AND (GPL-2.0-only OR LGPL-3.0-only)", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("(MIT", False),
        ("MIT ISC", False),
        ("", False),
        ("LicenseRef-other", False),
    ],
)
def test_expressions(expression: str, good: bool) -> None:
    """An OR needs one permissive part, an AND all of them; what cannot be read is refused."""
    assert is_permissive(expression) is good


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"license-expression": "MIT OR GPL-2.0-only", "license": "GPL"}, "MIT OR GPL-2.0-only"),
        ({"classifier": ["License :: OSI Approved :: MIT License", "Topic :: X"]}, "MIT"),
        ({"classifier": [GPL_CLASSIFIER], "license": "MIT"}, "LicenseRef-other"),
        ({"license": "Apache License, Version 2.0"}, "Apache-2.0"),
        ({"license": "3-Clause BSD License"}, "BSD-3-Clause"),
        ({"license": "MIT-style, see LICENSE"}, "LicenseRef-other"),
        ({"license": "", "classifier": []}, ""),
    ],
)  # fmt: skip
def test_metadata(metadata: dict[str, str | list[str]], expected: str) -> None:
    """The expression counts before the classifiers, these before the free field."""
    assert expression_of(metadata) == expected


def test_texts() -> None:
    """Licence texts are told apart; a copyleft title decides before a permissive phrase further down."""
    assert of_text(MIT) == "MIT"
    assert of_text(APACHE) == "Apache-2.0"
    assert of_text(GPL + MIT) == "LicenseRef-other"
    assert of_text("GPL-compatible\nPYTHON SOFTWARE FOUNDATION LICENSE VERSION 2") == "PSF-2.0"
    assert of_text("Copyright me") == ""


@pytest.mark.parametrize(
    ("declared", "texts", "expected"),
    [
        ("MIT", [MIT], "MIT"),
        ("MIT", [], "MIT"),
        ("", [APACHE], "Apache-2.0"),
        ("", [], ""),
        ("MIT", [MIT, GPL], ""),
        ("MIT OR GPL-3.0-only", [MIT, GPL], "MIT OR GPL-3.0-only"),
        ("LicenseRef-other", [MIT], ""),
    ],
)
def test_package(declared: str, texts: list[str], expected: str) -> None:
    """Metadata and files must agree that it is permissive; a dual licence may carry the other text too."""
    assert package_licence(declared, texts) == expected


def test_folders_of_others() -> None:
    """A folder with a licence file of its own that is not permissive, or unknown, is left out; the
    package's is not.
    """
    files = {"LICENSE": GPL, "a/vend/LICENSE": GPL, "b/LICENSE": MIT, "c/COPYING": "who knows"}
    assert foreign_folders(files, frozenset({"."})) == {"a/vend", "c"}


def test_headers() -> None:
    """A file under another licence says so in its beginning; a word on the GPL far down does not count."""
    assert copyleft_header("# This file is under the GNU Lesser General Public License\n")
    assert not copyleft_header("x = 1\n" * 1000 + "GPL")
