"""Parsing in the background, without holding up the event loop.

tree-sitter parses in C and Python gives its lock away only now and then, so that a thread which parses a
large file would keep a keystroke waiting for all of it. `Pace` works half of the time, not at all while the
editor's messages are being handled (`Foreground`), and ends what takes too long.
"""

from __future__ import annotations

import time

import attrs
from tree_sitter import Node

from codeserve.syntax import parser

__all__ = ["Foreground", "Pace", "Parsed", "TooSlow", "parse"]

# Work between two breaks, and a break. Each system call of the event loop hands Python's lock over and may
# wait for a slice to get it back.
SLICE_S = 0.0005
BREAK_S = 0.0005
# Background work rests this long after a message of the editor: by then it is handled, and the server asked.
QUIET_S = 0.02
# It rests no longer than this at once: messages that never end must not end the work.
PATIENCE_S = 0.2
# Handed to the parser at once.
PIECE_BYTES = 16_384


class TooSlow(Exception):
    """The time that was given for a piece of work is over."""


class Foreground:
    """What the user waits for. The event loop says when there is some, a `Pace` in another thread looks."""

    def __init__(self) -> None:
        self._until = 0.0

    def begins(self) -> None:
        """A message came in."""
        self._until = time.monotonic() + QUIET_S

    def busy(self) -> bool:
        return time.monotonic() < self._until


class Pace:
    """To be called every few microseconds of work in the thread that made it.

    ``seconds`` count its own work and not what other threads and programs take, which may be anything.
    """

    def __init__(self, seconds: float, foreground: Foreground | None = None) -> None:
        self._end = time.thread_time() + seconds
        self._started = time.thread_time()
        self._foreground = foreground or Foreground()

    def __call__(self) -> None:
        """Raises: TooSlow when ``seconds`` are over."""
        if self.late():
            raise TooSlow

    def late(self) -> bool:
        """Take a break if one is due. Whether time is up."""
        now = time.thread_time()
        if now - self._started > SLICE_S:
            time.sleep(BREAK_S)
            until = time.monotonic() + PATIENCE_S
            while self._foreground.busy() and time.monotonic() < until:
                time.sleep(BREAK_S)
            self._started = now
        return now > self._end


@attrs.frozen
class Parsed:
    """A syntax tree and the bytes that its nodes point into."""

    root: Node
    source: bytes = attrs.field(repr=False)

    def text(self, node: Node) -> str:
        """What a node stands for."""
        return self.slice(node.start_byte, node.end_byte)

    def slice(self, start: int, end: int) -> str:
        """The text between two places, in bytes."""
        return self.source[start:end].decode("utf-8", "replace")


def parse(text: str, language: str, pace: Pace) -> Parsed | None:
    """The syntax tree of a text, with errors where it does not parse; None without a grammar.

    Raises: TooSlow.
    """
    reader = parser(language)
    if reader is None:
        return None
    source = text.encode("utf-8", "replace")
    try:
        tree = reader.parse(
            lambda offset, _: source[offset : offset + PIECE_BYTES],
            progress_callback=lambda *_: pace.late(),
        )
    except ValueError:
        # that is how tree-sitter says that it was stopped
        raise TooSlow from None
    return Parsed(tree.root_node, source)
