"""Whether a package may be trained on: permissive by its own metadata and by the licence files in it.

Three places are looked at: the metadata (`License-Expression`, `License` and the classifiers of a wheel,
`license` of a package.json), the licence files of the package, and licence files in its folders, which speak
for what is vendored there. Identifiers are SPDX's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

__all__ = [
    "LICENCE_FILE",
    "PERMISSIVE",
    "copyleft_header",
    "expression_of",
    "folder_of",
    "foreign_folders",
    "is_permissive",
    "of_text",
    "package_licence",
]

PERMISSIVE = frozenset(
    {
        *("MIT", "MIT-0", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "ISC"),
        *("PSF-2.0", "Python-2.0", "Python-2.0.1", "Zlib", "Unlicense"),
    }
)

# `LICENSE-MIT`, `MIT-LICENSE.txt`, `COPYRIGHT`, and what the REUSE specification puts into `LICENSES`; not
# the `a.js.LICENSE.txt` of a bundle.
LICENCE_FILE = re.compile(
    r"(?:^|/)(?:(?:un)?(?:licen[cs]e|copying)[^/]*"
    r"|(?:\w{1,20}[- _]){1,3}(?:un)?licen[cs]es?(?:\.(?:txt|md|rst))?|copyrights?(?:\.(?:txt|md|rst))?"
    r"|(?-i:LICENSES)/[^/]+\.txt)$",
    re.IGNORECASE,
)
# Where a wheel keeps copies of licence files, under the paths they had in the project (PEP 639).
_COPIED = re.compile(r"^[^/]+\.dist-info/licenses/(?:src/)?")

_CLASSIFIERS = {
    "mit license": "MIT",
    "mit no attribution license (mit-0)": "MIT-0",
    "bsd license": "BSD-3-Clause",
    "apache software license": "Apache-2.0",
    "isc license (iscl)": "ISC",
    "python software foundation license": "PSF-2.0",
    "zlib/libpng license": "Zlib",
    "the unlicense (unlicense)": "Unlicense",
}

# What people write into a free field. Only whole values count.
_NAMES = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"(the )?mit( licen[cs]e)?( \(mit\))?|mit licen[cs]ed?", "MIT"),
        (r"(the )?(new |modified |revised )?bsd([ -]3([ -]clause)?)?( licen[cs]e)?", "BSD-3-Clause"),
        (r"3-clause bsd( licen[cs]e)?", "BSD-3-Clause"),
        (r"(simplified )?bsd[ -]2([ -]clause)?( licen[cs]e)?|2-clause bsd( licen[cs]e)?", "BSD-2-Clause"),
        (
            r"(the )?apache([ -]software)?([ -]licen[cs]e)?,?( -)?( ?v(ersion)?)?[ -]?2(\.0)?( licen[cs]e)?",
            "Apache-2.0",
        ),
        (r"apache|asl 2\.0", "Apache-2.0"),
        (r"isc( licen[cs]e)?", "ISC"),
        (r"psf([ -]2\.0)?( licen[cs]e)?|python software foundation( licen[cs]e)?", "PSF-2.0"),
        (r"zlib([ /]libpng)?( licen[cs]e)?", "Zlib"),
        (r"(the )?unlicense", "Unlicense"),
    )
]

_TEXTS = [
    ("Apache-2.0", "apache license version 2.0"),
    ("MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("BSD-3-Clause", "redistribution and use in source and binary forms"),
    ("ISC", "permission to use, copy, modify, and/or distribute this software"),
    (
        "ISC",
        "permission to use, copy, modify, and distribute this software for any purpose with or without fee",
    ),
    ("Unlicense", "this is free and unencumbered software released into the public domain"),
    ("Zlib", "this software is provided 'as-is', without any express or implied warranty"),
]

_PSF = "python software foundation license version 2"

_COPYLEFT = re.compile(
    r"gnu (?:lesser |library |affero )?general public|\b[al]?gpl(?:v?[23]|-[123]|(?![ -]compatible)\b)"
    r"|mozilla public license"
    r"|eclipse public license|\bcddl\b|creative commons|business source license|commons clause|polyform"
    r"|server side public|elastic license|european union public|all rights reserved\.? proprietary"
    r"|cecill|functional source license|\bnon-?commercial\b",
    re.IGNORECASE,
)
# What permissive licences never say, of a text that is none that is known.
_FORBIDDING = re.compile(
    r"\b(?:may|must|shall|can) ?not (?:[^ ]+ ){0,8}?"
    r"(?:cop(?:y|ied)|modif(?:y|ied)|(?:re)?distributed?|reproduced?)\b"
    r"|\b(?:copying|modification|(?:re)?distribution|reproduction) (?:[^ ]+ ){0,8}?(?:prohibited|forbidden)\b"
    r"|\bproprietary\b|\bconfidential\b|\bnon-?commercial\b"
)
_FORBIDDEN = "LicenseRef-forbidding"
_CC0 = "cc0 1.0 universal"
_ID = r"(?:\([ \t]*)*\w(?:[\w.+-]*[\w+-])?(?:[ \t]*\))*"
_TAGGED = re.compile(
    rf"spdx-license-identifier:[ \t]*({_ID}(?:[ \t]+(?:and|or|with)[ \t]+{_ID})*)", re.IGNORECASE
)
_COMMENT_MARKS = re.compile(r"[\s#*/;\"']+")
# One of them is in whatever `_COPYLEFT` and `_TAGGED` find; most files have none of them.
_HINTS = ("licen", "gpl", "gnu", "public", "commons", "cddl", "commercial", "polyform", "propriet", "cecill")
_COPYLEFT_ID = re.compile(r"(?i)\b(?:[AL]?GPL|MPL|EPL|EUPL|CDDL|OSL|CPL|CECILL|CC-BY-(?:SA|NC))")
_HEADER_CHARS = 2500
_DECLARES_CHARS = 1500  # of a licence file: its title and first lines say which one it is


def is_permissive(expression: str) -> bool:
    """Whether one may take the work under permissive terms alone: each AND part, one OR part of an SPDX
    expression.
    """
    tokens = re.findall(r"\(|\)|[^\s()]+", expression)
    if not tokens:
        return False
    position = 0

    def alternatives() -> bool:
        nonlocal position
        good = everything()
        while position < len(tokens) and tokens[position].upper() == "OR":
            position += 1
            good = everything() or good
        return good

    def everything() -> bool:
        nonlocal position
        good = one()
        while position < len(tokens) and tokens[position].upper() == "AND":
            position += 1
            good = one() and good
        return good

    def one() -> bool:
        nonlocal position
        if position >= len(tokens):
            return False
        word = tokens[position]
        position += 1
        if word == "(":
            good = alternatives()
            closed = position < len(tokens) and tokens[position] == ")"
            position += 1
            return good and closed
        if position < len(tokens) and tokens[position].upper() == "WITH":
            position += 2  # exceptions only add permissions
        return word in PERMISSIVE

    return alternatives() and position == len(tokens)


def expression_of(metadata: Mapping[str, str | list[str]]) -> str:
    """The licence that metadata declares as an SPDX expression, or "" when it declares none that is known.

    ``metadata``: keys `license-expression`, `license` and `classifier` (a list) of a wheel's METADATA.
    """
    expression = str(metadata.get("license-expression") or "").strip()
    if expression:
        return expression
    classifiers = metadata.get("classifier") or []
    found = []
    for classifier in [classifiers] if isinstance(classifiers, str) else classifiers:
        parts = [part.strip() for part in classifier.split("::")]
        if parts[0] == "License" and parts[-1] not in ("License", "OSI Approved"):
            found.append(_CLASSIFIERS.get(parts[-1].lower(), "LicenseRef-other"))
    if found:
        return " AND ".join(dict.fromkeys(found))
    declared = str(metadata.get("license") or "").strip()
    if is_permissive(declared):
        return declared
    for pattern, name in _NAMES:
        if pattern.fullmatch(" ".join(declared.lower().split())):
            return name
    if len(declared) > 200:  # the whole text in the field
        return of_text(declared)
    return "LicenseRef-other" if declared and declared.lower() not in ("unknown", "none") else ""


def of_text(text: str) -> str:
    """The licence whose text this is: an SPDX identifier, `LicenseRef-other`, `LicenseRef-forbidding` for
    one that is not known but forbids use, or "" when nothing is known of it.
    """
    plain = _plain(text)
    if _PSF in plain:  # its history says of each release whether it goes with the GPL
        return "PSF-2.0"
    if _CC0 in plain[:_DECLARES_CHARS]:  # gives everything up; projects carry it for their settings' files
        return ""
    # A copyleft title decides; further down, permissive texts mention other licences in passing.
    if _COPYLEFT.search(plain[:_DECLARES_CHARS]):
        return "LicenseRef-other"
    for name, phrase in _TEXTS:
        if _plain(phrase) in plain:
            return name
    if _COPYLEFT.search(plain):
        return "LicenseRef-other"
    return _FORBIDDEN if _FORBIDDING.search(plain) else ""


def _plain(text: str) -> str:
    """Words only, in lower case."""
    return " ".join(re.findall(r"[\w.'/-]+", text.lower()))


def package_licence(declared: str, licence_texts: Iterable[str]) -> str:
    """What a package's own licence is, or "" when its metadata and its licence files are not both permissive.

    Without metadata the files decide, and the other way round.
    """
    texts = [found for found in map(of_text, licence_texts) if found]
    if _FORBIDDEN in texts:
        return ""
    # Dual licences ("MIT OR GPL") carry both texts; the metadata tells them from a mixture.
    if not all(map(is_permissive, texts)) and not _offers_copyleft(declared):
        return ""
    if declared:
        return declared if is_permissive(declared) else ""
    return " AND ".join(dict.fromkeys(texts)) if texts else ""


def _offers_copyleft(declared: str) -> bool:
    """Whether an expression leaves the choice of a licence whose text is then there and not permissive."""
    names = re.sub(r"(?i)\bWITH\s+[^\s()]+", "", declared)
    return re.search(r"(?i)\bOR\b", names) is not None and _COPYLEFT_ID.search(names) is not None


def folder_of(path: str) -> str:
    """The folder that a licence file speaks for, "." being the package."""
    folder = PurePosixPath(_COPIED.sub("", path)).parent
    return str(folder.parent if folder.name == "LICENSES" else folder)


def foreign_folders(licence_files: Mapping[str, str], top: frozenset[str]) -> set[str]:
    """Folders below the package's own with a licence file that is not a permissive one: they are left out.

    ``licence_files``: path to text. ``top``: the folders whose licence files are the package's own.
    """
    return {
        folder
        for path, text in licence_files.items()
        if (folder := folder_of(path)) not in top and not is_permissive(of_text(text))
    }


def copyleft_header(text: str) -> bool:
    """Whether a source file's beginning puts it under a licence that is not permissive, by name or by an
    `SPDX-License-Identifier`. Phrases may be broken over lines of a comment.
    """
    head = text[:_HEADER_CHARS]
    lower = head.lower()
    if not any(hint in lower for hint in _HINTS):
        return False
    if _COPYLEFT.search(_COMMENT_MARKS.sub(" ", head)):
        return True
    return any(not is_permissive(tag) for tag in _TAGGED.findall(head))
