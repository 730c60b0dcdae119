"""What kind of place a cursor is in."""

from __future__ import annotations

from tree_sitter import Tree

from codeserve.syntax import parser

__all__ = ["POSITIONS", "Positions"]

POSITIONS = ("line start", "empty line", "line end", "mid-line", "string", "comment")

_STRINGS = ("string", "template_string", "string_content", "string_fragment", "concatenated_string")


class Positions:
    """The cursor positions of one file, whole as its author left it."""

    def __init__(self, text: str, language: str) -> None:
        self._text = text
        grammar = parser(language)
        self._tree: Tree | None = grammar.parse(text.encode()) if grammar is not None else None

    def kind(self, offset: int, hole_end: int) -> str:
        """The kind of the cursor at ``offset``, one of `POSITIONS`.

        What stands between it and ``hole_end`` is not written yet. In a string or a comment is a cursor with a
        part of it on both sides, in the file as it will be.
        """
        inside = self._inside(offset)
        if inside:
            return inside
        head = self._text[self._text.rfind("\n", 0, offset) + 1 : offset]
        if self._text[hole_end:].partition("\n")[0].strip():
            return "mid-line"
        if head.strip():
            return "line end"
        return "empty line" if head else "line start"

    def _inside(self, offset: int) -> str:
        if self._tree is None:
            return ""
        place = len(self._text[:offset].encode())
        node = self._tree.root_node.descendant_for_byte_range(place, place)
        while node is not None:
            # a string's own code (the braces of an f-string) is code
            if node.type in ("interpolation", "template_substitution"):
                return ""
            if node.start_byte < place < node.end_byte:
                if node.type in _STRINGS:
                    return "string"
                if "comment" in node.type:
                    return "comment"
            elif "comment" in node.type and node.start_byte < place:
                return "comment"  # a line comment goes on at its end
            node = node.parent
        return ""
