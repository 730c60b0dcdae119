"""What kind of place a cursor is in."""

from __future__ import annotations

from tree_sitter import Tree

from codeserve.syntax import parser

__all__ = ["POSITIONS", "Positions"]

POSITIONS = ("line start", "empty line", "line end", "mid-line", "string", "comment")

_CODE = ("interpolation", "template_substitution")  # within a string
_STRINGS = ("string", "template_string", "string_content", "string_fragment", "concatenated_string")


class Positions:
    """The cursor positions of one file, whole as its author left it."""

    def __init__(self, text: str, language: str) -> None:
        self._text = text
        grammar = parser(language)
        self._tree: Tree | None = grammar.parse(text.encode()) if grammar is not None else None

    def kind(self, offset: int, hole_end: int) -> str:
        """The kind of the cursor at ``offset``, one of `POSITIONS`.

        What stands between it and ``hole_end`` is not written yet. In a string or a comment is a cursor
        with a part of it on both sides, in the file as it will be.
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
            if node.start_byte < place < node.end_byte:
                if node.type in _CODE:
                    return ""
                if node.type in _STRINGS:
                    return "string"
                if "comment" in node.type:
                    return "comment"
            node = node.parent
        return "comment" if self._behind_comment(place) else ""

    def _behind_comment(self, place: int) -> bool:
        """Whether the cursor is at the end of a comment that goes on to the end of its line."""
        if self._tree is None or place == 0:
            return False
        node = self._tree.root_node.descendant_for_byte_range(place - 1, place - 1)
        if node is None or "comment" not in node.type or node.end_byte != place:
            return False
        return not (node.text or b"").endswith(b"*/")
