"""The open documents as the editor has them, and what a request saw of one.

Kept here and not in pygls' workspace, which splits lines where the protocol does not: see
`codeserve_lsp.text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import attrs

from codeserve.protocol import MAX_PREFIX_CHARS, MAX_SUFFIX_CHARS
from codeserve_lsp.text import (
    Encoding,
    ambiguous,
    content,
    join_surrogates,
    line_end,
    newlines,
    split_at,
    split_lines,
    units,
)

# The longest document that is followed, unless it is said otherwise. With a longer one, telling its lines
# apart alone takes so long that other documents' answers are late.
MAX_CHARS = 8_000_000

# Lines on each side of the cursor of which most say how a line ends here.
EOL_LINES = 50
# Lines that are counted at once.
STEP = 64

# The client cuts what is too long at the start of a line, or within a long one at a multiple of this.
PSEUDO_LINE = 1_024
# What a snapshot keeps at most: what goes out at most, and so much more that it is cut where the whole
# document would be.
PREFIX_CHARS = MAX_PREFIX_CHARS + PSEUDO_LINE
SUFFIX_CHARS = MAX_SUFFIX_CHARS + 2

__all__ = ["Change", "Document", "Documents", "Edit", "Snapshot", "file_path", "near_prefix", "near_suffix"]


def file_path(uri: str) -> Path | None:
    """Where a ``file:`` URI points, None for every other scheme or an unreadable one."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or not parts.path:
        return None
    path = unquote(parts.path)
    return None if "\0" in path else Path(path)


@attrs.frozen
class Edit:
    """Replace what stands between two positions (line and column, from 0, in the agreed encoding)."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str = attrs.field(repr=False)


Change = Edit | str  # a str is the whole new text


@attrs.frozen
class Snapshot:
    """A document around a cursor at one moment; nothing later changes it.

    ``prefix`` and ``suffix`` have ``\\n`` line ends whatever the document has, and are cut far from the
    cursor: about 80,000 characters at most, however long the document and its lines are.
    """

    uri: str
    version: int | None
    language: str
    line: int
    character: int
    prefix: str = attrs.field(repr=False)
    suffix: str = attrs.field(repr=False)
    eol: str = "\n"


def near_prefix(text: str) -> str:
    """The end of a text before a cursor, of about `PREFIX_CHARS`: from a line start or a pseudo-line's."""
    far = len(text) - PREFIX_CHARS
    if far <= 0:
        return text
    line = text.rfind("\n", 0, far) + 1
    return text[line + (far - line) // PSEUDO_LINE * PSEUDO_LINE :]


def near_suffix(text: str) -> str:
    """The start of a text behind a cursor, of `SUFFIX_CHARS` at most."""
    return text[:SUFFIX_CHARS]


class Document:
    """One open document, as lines. ``edited`` grows with each change in any document: a clock of use.

    ``lost``: what the editor has there is not known any more, because a change could not be read or the text
    has become too long to be followed. There are no lines then, until the editor sends the whole text.
    """

    def __init__(
        self,
        uri: str,
        text: str,
        *,
        version: int | None = None,
        language: str = "",
        max_chars: int = MAX_CHARS,
    ) -> None:
        self.uri = uri
        self.version = version
        self.language = language
        self.path = file_path(uri)
        self.edited = 0
        self.deleted_at: tuple[int, int] | None = None  # where the last change did nothing but delete
        self.lost = False
        self.size = 0  # in characters; of a text that was too long, what it had at least
        self.lines = [""]
        self._max_chars = max_chars
        self._take(text)

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def _take(self, text: str) -> None:
        self.size = len(text)
        self.lines, self.lost = [""], True
        if self.size <= self._max_chars:
            text = join_surrogates(text)
            if not ambiguous(text):
                self.lines, self.size, self.lost = split_lines(text), len(text), False

    def lose(self) -> None:
        """From now on it is not known what the editor has there."""
        self.lines, self.lost = [""], True

    def head(self, least: int) -> str:
        """The whole lines from the start that hold at least so many characters."""
        return _first(self.lines, 0, least)

    def apply(self, change: Change, encoding: Encoding) -> None:
        """Take one change of the editor. Positions outside the document mean its nearest end."""
        if isinstance(change, str):
            self._take(change)
            return
        if self.lost:
            return
        first, head, rest = self._at(change.start, encoding)
        last, _, tail = self._at(change.end, encoding)
        if last < first or (last == first and len(tail) > len(rest)):
            last, tail = first, rest  # an end before its start: nothing is replaced
        text = head + change.text + tail
        if first > 0 and self.lines[first - 1].endswith("\r"):
            # a "\n" that is put in front of this line belongs to that "\r"
            first -= 1
            text = self.lines[first] + text
        text = join_surrogates(text)
        self.size += len(text) - sum(map(len, self.lines[first : last + 1]))
        if self.size > self._max_chars or ambiguous(text):
            self.lose()
            return
        lines = split_lines(text)
        # the text ends with the end of line `last`, so what comes behind it is the document's next line
        self.lines[first : last + 1] = lines if last == len(self.lines) - 1 else lines[:-1]

    def _at(self, position: tuple[int, int], encoding: Encoding) -> tuple[int, str, str]:
        line, character = position
        if line < 0:
            line, character = 0, 0
        if line >= len(self.lines):
            line = len(self.lines) - 1
            return line, self.lines[line], ""
        return line, *split_at(self.lines[line], character, encoding)

    def clamp(self, position: tuple[int, int], encoding: Encoding) -> tuple[int, int]:
        """The position in the document that one of a client means.

        Behind a line's end that is its end (LSP 3.18, "Position"), behind the last line the document's end,
        within a character its start.
        """
        line, character = position
        if line < 0:
            return 0, 0
        if line >= len(self.lines):
            line = len(self.lines) - 1
            return line, units(self.lines[line], encoding)
        head, tail = split_at(content(self.lines[line]), character, encoding)
        if "\ud800" <= head[-1:] <= "\udbff" and "\udc00" <= tail[:1] <= "\udfff":
            head = head[:-1]
        return line, units(head, encoding)

    def snapshot(
        self, line: int, character: int, encoding: Encoding, *, selected: Edit | None = None
    ) -> Snapshot:
        """What a request at this position sees. Takes time by what it keeps, not by the document.

        ``selected`` is the entry picked in the editor's completion menu, on the cursor's line: the snapshot
        is then that of the document with it put in, and the cursor behind it.
        """
        row, head, tail = self._at((line, character), encoding)
        if selected is not None:
            head = self._at(selected.start, encoding)[1] + selected.text
            tail = self._at(selected.end, encoding)[2]
        return Snapshot(
            uri=self.uri,
            version=self.version,
            language=self.language,
            line=line,
            character=character,
            prefix=near_prefix(newlines(_last(self.lines, row, PREFIX_CHARS) + head)),
            suffix=near_suffix(newlines(tail + _first(self.lines, row + 1, SUFFIX_CHARS))),
            eol=line_end(self.lines[max(row - EOL_LINES, 0) : row + EOL_LINES]),
        )

    def around(self, line: int, character: int, encoding: Encoding) -> tuple[str, str]:
        """The line up to a position and from there on, without its end."""
        _, before, after = self._at((line, character), encoding)
        return before, content(after)


def _last(lines: list[str], end: int, least: int) -> str:
    """The lines before ``end``, from one whose start is at least ``least`` characters away."""
    start, left = end, least
    for step in (STEP, 1):  # line by line only where it ends: this is done at each keystroke
        while start > 0 and (size := sum(map(len, lines[max(start - step, 0) : start]))) <= left:
            start, left = max(start - step, 0), left - size
    return "".join(lines[max(start - 1, 0) : end])


def _first(lines: list[str], start: int, least: int) -> str:
    end, left = start, least
    for step in (STEP, 1):
        while end < len(lines) and (size := sum(map(len, lines[end : end + step]))) <= left:
            end, left = end + step, left - size
    return "".join(lines[start : end + 1])


class Documents:
    """The open documents by URI, in the order of their last use."""

    def __init__(self, encoding: Encoding = "utf-16") -> None:
        self.encoding: Encoding = encoding
        self.max_chars = MAX_CHARS  # of a document that is followed
        self._open: dict[str, Document] = {}
        self._clock = 0

    def __iter__(self) -> Iterator[Document]:
        return iter(self._open.values())

    def get(self, uri: str) -> Document | None:
        return self._open.get(uri)

    def open(self, uri: str, text: str, *, version: int | None = None, language: str = "") -> Document:
        document = Document(uri, text, version=version, language=language, max_chars=self.max_chars)
        self._open[uri] = document
        return document

    def change(self, uri: str, changes: Iterable[Change], version: int | None) -> Document | None:
        """Apply changes in their order; None for a document that is not open."""
        document = self._open.get(uri)
        if document is None:
            return None
        document.deleted_at = None
        for number, change in enumerate(changes):
            document.apply(change, self.encoding)
            only = isinstance(change, Edit) and not change.text and (number == 0 or document.deleted_at)
            document.deleted_at = change.start if isinstance(change, Edit) and only else None
        self._clock += 1
        document.version, document.edited = version, self._clock
        return document

    def close(self, uri: str) -> None:
        self._open.pop(uri, None)
