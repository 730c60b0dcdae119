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
    """What the end of ``prefix`` stands in; None without a grammar, without code or in an endless line."""
    grammar = parser(language)
    region = _region(prefix)
    source = region.rstrip().encode()
    if grammar is None or not source:
        return None
    path = _to_the_end(grammar.parse(source).root_node)
    line = region[region.rfind("\n") + 1 :]
    text = bool(line.strip()) and (_is_text(path, len(source)) or _quoted(line, path[-1], language))
    statement: bool | None = None
    for node in _open_before(path):
        if node.type[-1:] in OPENERS:
            begin = source.rfind(b"\n", 0, node.start_byte) + 1
            opener = source[begin:].partition(b"\n")[0].decode()
            return Place(text, bool(statement), node.type[-1], opener)
        if statement is None and (node.type == "lambda" or node.type in _STATEMENTS):
            statement = node.type != "lambda"
    return Place(text, bool(statement), "", "")


def _region(prefix: str) -> str:
    """The end of ``prefix``, from the start of a line; "" where the last line is too long for that."""
    if len(prefix) <= _REGION:
        return prefix
    newline = prefix.find("\n", len(prefix) - _REGION)
    if newline < 0:
        return ""
    tail = prefix[newline + 1 :]
    for start, letter in enumerate(tail):
        if (start == 0 or tail[start - 1] == "\n") and letter not in " \t\r\n" + CLOSERS:
            return tail[start:]
    return tail


def _to_the_end(root: Node) -> list[Node]:
    """The nodes from the root to the last token. What the parser has made up to go on has no width."""
    path = [root]
    while inner := [child for child in path[-1].children if child.end_byte > child.start_byte]:
        path.append(inner[-1])
    return path


def _is_text(path: list[Node], end: int) -> bool:
    """Whether the last token of ``path``, which ends at ``end``, is in a string or comment that goes on."""
    node = path[-1]
    for outer in reversed(path):
        if any(part in outer.type for part in _CODE):
            break
        if "comment" in outer.type:
            return not (outer.text or b"").endswith((b"*/", b"-->"))
        ends = node.type == "string_end" and outer == node
        if any(part in outer.type for part in _TEXT) and outer.end_byte == end and not ends:
            # a token that ends a string closes it, unless it also begins it
            return node.start_byte == outer.start_byte or node.type in ("string_content", "string_fragment")
    return False


def _quoted(line: str, last: Node, language: str) -> bool:
    """Whether a quote is open on the line: strings without an end are no strings to the grammars."""
    quotes = '"`' if language in CHARACTER_QUOTES else "\"'`"
    return last.type != "comment" and any(in_string(line, quote) for quote in quotes)


def _open_before(path: list[Node]) -> Iterator[Node]:
    """The tokens up to the end of ``path``, last one first, that no bracket encloses.

    An opening bracket among them is open there.
    """
    closed = 0
    for token in _tokens(path):
        if token.type in CLOSERS:
            closed += 1
        elif token.type[-1:] in OPENERS and len(token.type) <= 2:
            if not closed:
                yield token
            closed -= closed > 0
        elif not closed:
            yield token


def _tokens(path: list[Node]) -> Iterator[Node]:
    """The tokens of a tree, last one first; none of a part without errors, which closes its brackets.

    Of the nodes on the ``path`` to the last token all parts are looked at.
    """
    stack = path[:1]  # from the root down, and not by recursion: brackets nest a thousand deep
    depth = 0  # so many nodes of the path were met
    while stack:
        node = stack.pop()
        on_path = depth < len(path) and node == path[depth]
        depth += on_path
        if on_path or node.has_error:
            stack += node.children
            while on_path and depth < len(path) and stack[-1] != path[depth]:
                stack.pop()  # made up, behind the end
        if not node.children and node.end_byte > node.start_byte:
            yield node
