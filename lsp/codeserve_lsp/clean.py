"""What of the server's text may go into a document, and how text of the server is shown to the user.

A server is a program that somebody else runs: what it writes is taken as it is only as far as source code
goes that way. No source has the characters of `_NEVER`; a completion ends before the first of them:

- control characters other than tab, form feed and line ends: a terminal or an editor would act on them;
- U+2028 and U+2029, which some editors take for line ends and the protocol does not;
- marks that turn the direction of what follows (U+202A to U+202E, U+2066 to U+2069): code then shows as other
  code than it is;
- U+FEFF, U+FFF9 to U+FFFD, which stand for something that could not be read or shown, lone surrogates and
  noncharacters (Unicode 16.0, section 23.7).

Joiners and left-to-right marks stay: emoji and texts in strings have them. So does what the document has
around the cursor: code about such characters is code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

from codeserve.protocol import MAX_OUTPUT_TOKENS
from codeserve_lsp.text import newlines

__all__ = ["MAX_CHARS", "MAX_LINES", "Intake", "shown"]

# Of one answer. A model writes `MAX_OUTPUT_TOKENS` tokens at most; they have four or five characters in code,
# and hardly any is more than a line end.
MAX_CHARS = 16 * MAX_OUTPUT_TOKENS
MAX_LINES = 2 * MAX_OUTPUT_TOKENS
# Of a text in the status.
MAX_SHOWN = 300

_PLANES = "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
_NEVER = re.compile(
    "[\0-\x08\x0b\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    f"\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\ufffd{_PLANES}]"
)
_NOT_SHOWN = re.compile(rf"(?:{_NEVER.pattern}|[\t\n\f\r])+")


def shown(text: str) -> str:
    """``text`` as one line of bounded length, without what a terminal or an editor would act on."""
    line = _NOT_SHOWN.sub(" ", text[: 4 * MAX_SHOWN]).strip()
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1] + "…"


@attrs.define
class Intake:
    """Takes the text of one answer piece by piece, as much of it as may be used in ``document`` (its parts).

    ``too_long``: it had more than an answer may have. ``ended``: nothing of what follows can be used.
    """

    document: Sequence[str] = attrs.field(default=(), repr=False)
    too_long: bool = False
    _chars: int = 0
    _lines: int = 0
    ended: bool = False
    _held: str = ""  # a "\r" that may be half of a line end
    _known: set[str] = attrs.field(factory=set, repr=False)  # odd characters that the document has

    def take(self, piece: str) -> str:
        """What of the next piece is usable, "" from the first character on that is not."""
        if self.ended:
            return ""
        piece, self._held = self._held + piece, ""
        room = MAX_CHARS - self._chars
        bad = self._end(piece, room)
        text = piece[: room if bad is None else bad]
        self.too_long = bad is None and len(piece) > room
        self.ended = bad is not None or self.too_long
        if not self.ended and text.endswith("\r"):
            text, self._held = text[:-1], "\r"
        self._chars += len(text)
        text = newlines(text)
        lines, left = text.count("\n"), MAX_LINES - self._lines
        if lines > left:
            text = "".join(line + "\n" for line in text.split("\n", left)[:left])
            self.ended = self.too_long = True
        self._lines += lines
        return text

    def _end(self, text: str, limit: int) -> int | None:
        """Where the first character is that no source has, None without one before ``limit``."""
        start = 0
        while (bad := _NEVER.search(text, start, limit)) is not None:
            # looked for once: with one in each place, going over the document for each would take seconds
            if bad[0] not in self._known:
                if not any(bad[0] in part for part in self.document):
                    return bad.start()
                self._known.add(bad[0])
            start = bad.end()
        return None
