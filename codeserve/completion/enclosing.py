"""What the cursor stands in, by the language's grammar: code, or a string or comment, and an open bracket.

Only the end of the prefix is parsed, from a line that is not indented where there is one, so that it takes
about a millisecond at most; without a grammar for the language nothing is known and `place` gives None.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from tree_sitter import Node

from codeserve.completion.brackets import CHARACTER_QUOTES, CLOSERS, OPENERS, in_string
from codeserve.syntax import parser

__all__ = ["Place", "place"]

_REGION = 2000  # characters that are parsed
_TEXT = ("comment", "string", "char_literal", "heredoc", "regex")  # parts of the names of what is no code
_CODE = ("interpolation", "substitution")  # within those
_STATEMENTS = frozenset(
    {"async", "case", "class", "def", "elif", "else", "except", "finally", "for", "if", "match", "try"}
    | {"while", "with"}
)


@attrs.frozen
class Place:
    """Where a text ends."""

    text: bool  # in a string or comment
    statement: bool  # behind a statement's keyword, with no bracket open since
    bracket: str  # the innermost bracket that is open, "" when none is
    line: str  # the line that this bracket stands in, up to its end


def place(prefix: str, language: str) -> Place | None:
    """What the end of ``prefix`` stands in; None without a grammar for the language, or without code."""
    grammar = parser(language)
    region = _region(prefix)
    source = region.rstrip().encode()
    if grammar is None or not source:
        return None
    last = _last(grammar.parse(source).root_node)
    line = region[region.rfind("\n") + 1 :]
    text = bool(line.strip()) and (_is_text(last, len(source)) or _quoted(line, last, language))
    statement: bool | None = None
    for node in _open_before(last):
        if node.type[-1:] in OPENERS:
            begin = source.rfind(b"\n", 0, node.start_byte) + 1
            opener = source[begin:].partition(b"\n")[0].decode()
            return Place(text, bool(statement), node.type[-1], opener)
        if statement is None and (node.type == "lambda" or node.type in _STATEMENTS):
            statement = node.type != "lambda"
    return Place(text, bool(statement), "", "")


def _region(prefix: str) -> str:
    """The end of ``prefix``, from the start of a line."""
    if len(prefix) <= _REGION:
        return prefix
    tail = prefix[prefix.find("\n", len(prefix) - _REGION) + 1 :]
    for start, letter in enumerate(tail):
        if (start == 0 or tail[start - 1] == "\n") and letter not in " \t\r\n" + CLOSERS:
            return tail[start:]
    return tail


def _last(node: Node) -> Node:
    """The last token. What the parser has made up to go on has no width."""
    while node.children:
        inner = [child for child in node.children if child.end_byte > child.start_byte]
        if not inner:
            break
        node = inner[-1]
    return node


def _is_text(node: Node, end: int) -> bool:
    """Whether the token ``node``, which ends at ``end``, is part of a string or comment that goes on."""
    outer: Node | None = node
    while outer is not None and not any(part in outer.type for part in _CODE):
        if "comment" in outer.type:
            return not (outer.text or b"").endswith((b"*/", b"-->"))
        ends = node.type == "string_end" and outer == node
        if any(part in outer.type for part in _TEXT) and outer.end_byte == end and not ends:
            # a token that ends a string closes it, unless it also begins it
            return node.start_byte == outer.start_byte or node.type in ("string_content", "string_fragment")
        outer = outer.parent
    return False


def _quoted(line: str, last: Node, language: str) -> bool:
    """Whether a quote is open on the line: strings without an end are no strings to the grammars."""
    quotes = '"`' if language in CHARACTER_QUOTES else "\"'`"
    return last.type != "comment" and any(in_string(line, quote) for quote in quotes)


def _open_before(node: Node) -> Iterator[Node]:
    """The tokens in front of ``node``, itself included and last one first, that no bracket encloses.

    An opening bracket among them is open at ``node``.
    """
    closed = 0
    at: Node | None = node
    while at is not None:
        for token in _tokens(at):
            if token.type in CLOSERS:
                closed += 1
            elif token.type[-1:] in OPENERS and len(token.type) <= 2:
                if not closed:
                    yield token
                closed -= closed > 0
            elif not closed:
                yield token
        while at is not None and at.prev_sibling is None:
            at = at.parent
        at = at.prev_sibling if at is not None else None


def _tokens(node: Node) -> Iterator[Node]:
    """The tokens of ``node``, last one first; none of a part without errors: it closes its brackets."""
    if not node.children:
        if node.end_byte > node.start_byte:
            yield node
    elif node.has_error:
        for child in reversed(node.children):
            yield from _tokens(child)
