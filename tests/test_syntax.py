"""The parsers by language."""

from __future__ import annotations

import pytest

from codeserve import syntax


@pytest.mark.parametrize("name", sorted(syntax.LANGUAGES))
def test_every_grammar_loads(name: str) -> None:
    """Each listed language has its grammar in the install, of an ABI that this tree-sitter reads."""
    parser = syntax.parser(name)
    assert parser is not None
    assert parser.parse(b"\n").root_node is not None


def test_unknown_language() -> None:
    """A language without a grammar has no parser."""
    assert syntax.parser("brainfuck") is None


def test_grammars_differ() -> None:
    """TypeScript and TSX read the same text by their own rules."""
    source = b"const a = <T>b;"
    plain, tsx = syntax.parser("typescript"), syntax.parser("typescriptreact")
    assert plain is not None
    assert tsx is not None
    assert not plain.parse(source).root_node.has_error
    assert tsx.parse(source).root_node.has_error
