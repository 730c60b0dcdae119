"""Which licences are permissive, by metadata and by text."""

import pytest

from training.data.licences import (
    LICENCE_FILE,
    copyleft_header,
    expression_of,
    folder_of,
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
    assert of_text("Creative Commons Legal Code\n\nCC0 1.0 Universal") == ""


@pytest.mark.parametrize(
    ("declared", "texts", "expected"),
    [
        ("MIT", [MIT], "MIT"),
        ("MIT", [], "MIT"),
        ("", [APACHE], "Apache-2.0"),
        ("", [], ""),
        ("MIT", [MIT, GPL], ""),
        ("MIT OR GPL-3.0-only", [MIT, GPL], "MIT OR GPL-3.0-only"),
        ("MIT OR Apache-2.0", [MIT, GPL], ""),
        ("Apache-2.0 WITH LLVM-exception OR MIT", [MIT, GPL], ""),
        ("MIT OR CC0-1.0", [MIT, GPL], ""),
        ("LicenseRef-other", [MIT], ""),
        ("MIT", ["All rights reserved. You may not copy, modify or redistribute"], ""),
        ("MIT OR ISC", ["Redistribution of\nthis work is strictly PROHIBITED"], ""),
        ("MIT", ["Proprietary and confidential"], ""),
        ("MIT", ["For non-commercial use"], ""),
        ("MIT", ["Written by me. This notice may not be removed or altered from any distribution."], "MIT"),
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


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("LICENSE", "."),
        ("a/MIT-LICENSE.txt", "a"),
        ("a/the_mit_licence", "a"),
        ("COPYRIGHT", "."),
        ("Copyright.rst", "."),
        ("the-unlicense.md", "."),
        ("UNLICENCE", "."),
        ("COPYING.LESSER", "."),
        ("LICENSES/MIT.txt", "."),
        ("a/LICENSES/GPL-3.0-only.txt", "a"),
        ("d-1.0.dist-info/LICENSE", "d-1.0.dist-info"),
        ("d-1.0.dist-info/licenses/LICENSE", "."),
        ("d-1.0.dist-info/licenses/LICENSES/MIT.txt", "."),
        ("d-1.0.dist-info/licenses/pkg/vend/LICENSE", "pkg/vend"),
        ("d-1.0.dist-info/licenses/src/pkg/vend/LICENSE", "pkg/vend"),
    ],
)
def test_licence_files(path: str, folder: str) -> None:
    """Licence files are known by name, and speak for the folder they were in."""
    assert LICENCE_FILE.search(path)
    assert folder_of(path) == folder


@pytest.mark.parametrize(
    "path", ["a/copyrighted.txt", "a/async-table.js.LICENSE.txt", "relicense-all.sh", "licenses/help.txt"]
)
def test_other_files(path: str) -> None:
    """Files that are named after licences but hold none."""
    assert not LICENCE_FILE.search(path)


@pytest.mark.parametrize(
    "text",
    [
        "# This file is under the GNU Lesser General Public License\n",
        "/* This Source Code Form is subject to the terms of the Mozilla Public\n"
        " * License, v. 2.0. If a copy of the MPL was not distributed with this\n * file, ... */",
        "# under the GNU General\n# Public License\n",
        "// the Server\n// Side Public License",
        *(
            f"# SPDX-License-Identifier: {tag}\n"
            for tag in (
                *("MPL-2.0", "EPL-2.0", "BUSL-1.1", "SSPL-1.0", "CC-BY-NC-4.0", "LicenseRef-Proprietary"),
                *("MIT AND EPL-2.0", "(MIT AND (ISC OR EPL-2.0)) AND OSL-3.0"),
            )
        ),
        "/* SPDX-License-Identifier: EPL-2.0*/",
        "# SPDX-License-Identifier: MIT\n# SPDX-License-Identifier: EPL-2.0\n",
    ],
)
def test_headers(text: str) -> None:
    """A file under another licence says so in its beginning, in words over several lines or by a tag."""
    assert copyleft_header(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * 1000 + "GPL",
        "# SPDX-License-Identifier: MIT\n# and more about this file\n",
        "/* SPDX-License-Identifier: (MIT OR EPL-2.0) */",
        "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n",
        "# SPDX-License-Identifier: Apache-2.0.\n",
        "# SPDX-License-Identifier: BSD-3-Clause Copyright me\n",
        'TAG = "SPDX-License-Identifier: " + licence\n',
        "# Licensed under the Apache License, Version 2.0\n",
    ],
)
def test_headers_that_are_permissive(text: str) -> None:
    """Permissive tags do not count, nor does a word on the GPL far down."""
    assert not copyleft_header(text)
