"""What a file declares, without what is in its bodies: for a file that another one imports.

Signatures, heads of classes with the signatures of their members, constants, and of each doc comment the
first line. Where nothing has a body (interfaces, structures, enumerations) all of it, as far as it is short.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import attrs
from tree_sitter import Node

from codeserve_lsp.grammar import GRAMMARS, Grammar
from codeserve_lsp.parsing import Pace, Parsed, parse

__all__ = ["MAX_CHARS", "Declaration", "declarations", "fitting"]

# Of a text only so much is read: what a prompt can take of a file stands in far less.
MAX_CHARS = 300_000
MAX_DECLARATIONS = 2_000
# Longer ones are cut to their first line; a signature or a class's head longer than this is no help.
WHOLE_CHARS = 600
HEAD_CHARS = 1_000
DOC_CHARS = 120
RECEIVER_CHARS = 400
MAX_DEPTH = 4
WRAPPED = 5  # what may stand around a declaration

_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")
_NAME_END = re.compile(r"[<\[(:\s]")
# What stands around the text of a line of a comment. No pattern: one that looks for the end from each place
# would take minutes over a long row of asterisks.
_MARKS_BEFORE = " \t\r\f/*#!<>-"
_MARKS_BEHIND = " \t\r\f*/"
_QUOTES = re.compile(r"""^[a-zA-Z]*(\"\"\"|'''|"|')|(\"\"\"|'''|"|')$""")


@attrs.frozen
class Declaration:
    """One declaration at the top of a file, as it goes into a prompt."""

    name: str
    lines: list[str] = attrs.field(repr=False)

    @property
    def size(self) -> int:
        return sum(map(len, self.lines)) + len(self.lines)


def declarations(text: str, language: str, pace: Pace) -> list[Declaration] | None:
    """The declarations of a file in their order; None for a language without a grammar.

    Raises: codeserve_lsp.parsing.TooSlow.
    """
    grammar = GRAMMARS.get(language)
    parsed = parse(text[:MAX_CHARS], language, pace) if grammar else None
    if grammar is None or parsed is None:
        return None
    return list(_Reader(parsed, grammar, pace).read())


def fitting(found: list[Declaration], limit: int, wanted: Collection[str] = ()) -> str:
    """As many declarations as ``limit`` characters hold: those ``wanted`` first, private ones last.

    They come in the order of their file. One that is wanted and does not fit goes in up to a line end.
    """

    def rank(declaration: Declaration) -> int:
        return 0 if declaration.name in wanted else 2 if declaration.name.startswith("_") else 1

    kept: dict[int, list[str]] = {}
    left = limit + 1  # the last line has no line end
    for place, declaration in sorted(enumerate(found), key=lambda each: rank(each[1])):
        if declaration.size <= left:
            kept[place] = declaration.lines
            left -= declaration.size
        elif not kept or declaration.name in wanted:
            kept[place] = list(_within(declaration.lines, left))
            left -= sum(map(len, kept[place])) + len(kept[place])
    return "\n".join(line for place in sorted(kept) for line in kept[place])


def _within(lines: list[str], limit: int) -> Iterator[str]:
    for line in lines:
        limit -= len(line) + 1
        if limit < 0:
            return
        yield line


class _Reader:
    def __init__(self, parsed: Parsed, grammar: Grammar, pace: Pace) -> None:
        self._parsed = parsed
        self._grammar = grammar
        self._pace = pace
        self._count = 0

    def read(self) -> Iterator[Declaration]:
        for node in self._children(self._parsed.root):
            lines = list(self._lines(node, 0))
            if lines:
                indent = len(lines[0]) - len(lines[0].lstrip())  # it may stand in an `if`
                dedented = [line if line[:indent].strip() else line[indent:] for line in lines]
                yield Declaration(self._name(node), dedented)

    def _children(self, node: Node) -> Iterator[Node]:
        """The declarations in a node, in order."""
        for child in node.named_children:
            self._pace()
            if self._count >= MAX_DECLARATIONS:
                return
            if child.type in self._grammar.through:
                yield from self._children(child)
            else:
                self._count += 1
                yield child

    def _core(self, node: Node) -> Node | None:
        """The declaration itself in what an export, a decorator or a template puts around it."""
        grammar = self._grammar
        whole = None
        for _ in range(WRAPPED):
            if node.type in grammar.groups | grammar.signatures:
                return node
            if whole is None and node.type in grammar.wholes:
                whole = node
            inner = next(filter(None, map(node.child_by_field_name, grammar.inner)), None)
            if inner is None and node.type in grammar.wholes | _WRAPPERS and node.named_child_count:
                inner = node.named_children[-1]
            if inner is None:
                break
            node = inner
        return whole

    def _name(self, node: Node) -> str:
        core = self._core(node)
        if core is None:
            return ""
        receiver = core.child_by_field_name("receiver")
        if receiver is not None:  # a method belongs to its type
            match = _RECEIVER.search(self._parsed.text(receiver)[-RECEIVER_CHARS:])
            return match[1] if match else ""
        fields = ("type",) if core.type == "impl_item" else ("name", "left")
        for holder in (core, core.parent, *core.named_children[:1]):
            for field in fields:
                named = holder.child_by_field_name(field) if holder is not None else None
                if named is not None:
                    return _NAME_END.split(self._parsed.text(named), maxsplit=1)[0]
        return ""

    def _lines(self, node: Node, depth: int) -> Iterator[str]:
        core = self._core(node)
        if core is None:
            return
        head = self._head(node, core)
        if not head:
            return
        indent = self._indent(node, depth)
        yield from self._comment(node, indent)
        body = core.child_by_field_name("body")
        if core.type in self._grammar.groups and depth < MAX_DEPTH:
            yield from self._group(indent, head, body, depth)
        elif core.type in self._grammar.wholes:
            yield from (indent + head).split("\n")
        else:
            yield from self._signature(indent, head, body)

    def _head(self, node: Node, core: Node) -> str:
        """What stands before a body, or all of what has none to leave out."""
        body = core.child_by_field_name("body")
        if core.type in self._grammar.wholes:
            text = self._parsed.text(node).strip()
            if core.type == "expression_statement" and not _is_constant(core):
                return ""
            if len(text) > WHOLE_CHARS:
                text = text.split("\n", 1)[0].rstrip()
            if core.type == "access_specifier":
                text += ":"
            return text if len(text) <= WHOLE_CHARS else ""
        end = node.end_byte if body is None else body.start_byte
        text = self._parsed.slice(node.start_byte, end).strip()
        return text if len(text) <= HEAD_CHARS else ""

    def _group(self, indent: str, head: str, body: Node | None, depth: int) -> Iterator[str]:
        braced = self._grammar.close == "}" and body is not None
        yield from (f"{indent}{head} {{" if braced else indent + head).split("\n")
        doc = self._docstring(body, indent)
        members = [] if body is None else list(self._children(body))
        inside = [line for member in members for line in self._lines(member, depth + 1)]
        yield from doc
        yield from inside
        if self._grammar.close and body is not None:
            yield indent + self._grammar.close
        elif not self._grammar.close and not doc and not inside:
            yield f"{indent}    ..."

    def _signature(self, indent: str, head: str, body: Node | None) -> Iterator[str]:
        doc = self._docstring(body, indent)
        end = "" if doc or head.endswith((";", self._grammar.end)) else self._grammar.end
        arrow = head.removesuffix("=>").rstrip() if head.endswith("=>") else head
        yield from f"{indent}{arrow}{end}".split("\n")
        yield from doc

    def _docstring(self, body: Node | None, indent: str) -> list[str]:
        """The first line of the string that a Python body begins with."""
        if self._grammar is not GRAMMARS["python"] or body is None or not body.named_children:
            return []
        first = body.named_children[0]
        inner = first.named_children[0] if first.named_children else first
        if "string" not in (first.type, inner.type):
            return []
        text = _QUOTES.sub("", self._parsed.text(inner)).strip().split("\n", 1)[0].strip()
        return [f'{indent}    """{text}"""'] if text and len(text) <= DOC_CHARS else []

    def _indent(self, node: Node, depth: int) -> str:
        """The node's own indentation, for its further lines have it too."""
        start = self._parsed.source.rfind(b"\n", 0, node.start_byte) + 1
        before = self._parsed.slice(start, node.start_byte)
        return before if not before.strip() else "    " * depth

    def _comment(self, node: Node, indent: str) -> Iterator[str]:
        """The first line of the comment right above."""
        first, row = None, node.start_point.row
        above = node.prev_named_sibling
        while above is not None and above.end_point.row >= row - 1:
            if "comment" in above.type:
                first = above
            elif above.type not in self._grammar.between:
                break
            row, above = above.start_point.row, above.prev_named_sibling
            self._pace()
        if first is None or first.start_point.column != node.start_point.column or not first.start_byte:
            return  # what a file begins with is about the file
        for line in self._parsed.text(first).split("\n"):
            text = line.lstrip(_MARKS_BEFORE).rstrip(_MARKS_BEHIND)
            if text:
                if len(text) <= DOC_CHARS:
                    yield f"{indent}{self._grammar.mark} {text}"
                return


# Nodes around a declaration, whose last child it is.
_WRAPPERS = frozenset(
    {
        "ambient_declaration",
        "export_statement",
        "expression_statement",
        "template_declaration",
        "variable_declarator",
    }
)


def _is_constant(node: Node) -> bool:
    """Whether a statement of Python is an assignment, or an annotation alone."""
    return bool(node.named_children) and node.named_children[0].type == "assignment"
