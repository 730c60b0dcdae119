"""What the server wrote, kept where it was asked for, so that typing it needs no request.

A suggestion stays at its anchor: the text before and behind the cursor when it was asked for. It fits any
later cursor that lies a part of its text further on. Characters that were typed and deleted again therefore
need no bookkeeping: the cursor is back where the suggestion fits.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import attrs

from codeserve_lsp.documents import Snapshot

__all__ = ["Cache", "Listener", "Match", "Suggestion", "whole_lines"]

# How much around the anchor must be the same. Much less than the model saw, and enough that another place in
# the same document is not mistaken for it.
BEFORE_CHARS = 2048
AFTER_CHARS = 512
# The end of that, by which its places are looked for.
TAIL_CHARS = 32
# Suggestions kept for a document, and documents kept.
PER_DOCUMENT = 16
DOCUMENTS = 64
# Characters of all that is kept.
KEPT_CHARS = 4_000_000


class Listener(Protocol):
    def set(self) -> None:
        """Called on each change of a suggestion."""


def whole_lines(text: str) -> str:
    """What of an unfinished text can be shown: the lines that have ended, without blank ones at the end."""
    return text[: text.rfind("\n") + 1].rstrip()


@attrs.define(eq=False)
class Suggestion:
    """One completion, whether still being written or done. ``text`` has ``\\n`` line ends."""

    before: str = attrs.field(repr=False)
    after: str = attrs.field(repr=False)
    at_start: bool  # whether ``before`` begins with the document
    asked: int = 1  # candidates asked for
    prefetched: bool = False
    id: str = ""  # of the request at the server
    text: str = attrs.field(default="", repr=False)
    candidates: list[str] = attrs.field(factory=list, repr=False)
    done: bool = False
    reason: str = ""  # why there is no text, when it is done
    listeners: set[Listener] = attrs.field(factory=set, repr=False)

    @classmethod
    def at(cls, snapshot: Snapshot, *, asked: int = 1, prefetched: bool = False) -> Suggestion:
        """An empty one, anchored at a snapshot's cursor."""
        return cls(
            before=snapshot.prefix[-BEFORE_CHARS:],
            after=snapshot.suffix[:AFTER_CHARS],
            at_start=len(snapshot.prefix) <= BEFORE_CHARS,
            asked=asked,
            prefetched=prefetched,
        )

    @property
    def size(self) -> int:
        """Characters that it holds."""
        return len(self.before) + len(self.after) + len(self.text) + sum(map(len, self.candidates))

    def feed(self, text: str) -> None:
        """Take more text."""
        if text:
            self.text += text
            self._tell()

    def end(self, text: str, reason: str, candidates: list[str] | None = None) -> None:
        """It is complete: ``text`` is what counts."""
        self.text, self.reason, self.done = text, reason, True
        self.candidates = [each for each in candidates or [text] if each]
        self._tell()

    def _tell(self) -> None:
        for listener in self.listeners:
            listener.set()

    def typed(self, snapshot: Snapshot) -> str | None:
        """What was typed since the anchor to get to this cursor, None when it is another place or text."""
        if snapshot.suffix[:AFTER_CHARS] != self.after:
            return None
        prefix = snapshot.prefix
        longest = len(self.text) if self.done else BEFORE_CHARS
        for end in self._ends(prefix, longest):
            if prefix.endswith(self.before, 0, end) and self.fits(prefix[end:]):
                return prefix[end:]
        return None

    def _ends(self, prefix: str, longest: int) -> Iterator[int]:
        """Where ``before`` may end in ``prefix``, up to ``longest`` characters before its end, last first."""
        if self.at_start:
            if 0 <= len(prefix) - len(self.before) <= longest:
                yield len(self.before)
            return
        tail, end = self.before[-TAIL_CHARS:], len(prefix)
        first = max(len(prefix) - longest - len(tail), 0)
        while (found := prefix.rfind(tail, first, end)) >= 0:
            yield found + len(tail)
            end = found + len(tail) - 1

    def fits(self, typed: str) -> bool:
        """Whether the text goes on from what was typed, or may still turn out to."""
        return self.text.startswith(typed) or (not self.done and typed.startswith(self.text))

    def rests(self, typed: str) -> list[str]:
        """What is left of each candidate behind what was typed; of an unfinished text its whole lines."""
        texts = self.candidates if self.done else [whole_lines(self.text)]
        rests = [text[len(typed) :] for text in texts if text.startswith(typed)]
        return list(dict.fromkeys(rest for rest in rests if rest.strip()))


class Match(NamedTuple):
    suggestion: Suggestion
    typed: str


class Cache:
    """The suggestions of each document, newest first. Bounded, whatever is asked and wherever."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, deque[Suggestion]] = OrderedDict()

    def add(self, uri: str, suggestion: Suggestion) -> None:
        kept = self._kept.setdefault(uri, deque(maxlen=PER_DOCUMENT))
        self._kept.move_to_end(uri)
        kept.appendleft(suggestion)
        if len(self._kept) > DOCUMENTS:
            self._kept.popitem(last=False)

    def trim(self) -> None:
        """Drop the oldest ones, of the document used longest ago first, as far as too much is kept."""
        size = sum(each.size for kept in self._kept.values() for each in kept)
        while size > KEPT_CHARS:
            oldest = next(iter(self._kept))
            size -= self._kept[oldest].pop().size
            if not self._kept[oldest]:
                del self._kept[oldest]

    def remove(self, uri: str, suggestion: Suggestion) -> None:
        """Drop one that came to nothing; it may be gone already."""
        kept = self._kept.get(uri)
        if kept is not None and suggestion in kept:
            kept.remove(suggestion)
            if not kept:
                del self._kept[uri]

    def find(self, snapshot: Snapshot, *, asked: int = 1) -> Match | None:
        """The newest suggestion that has, or may come to have, something for this cursor.

        One that was asked for fewer candidates does not count. One that is done and empty counts where it
        was asked for: there is nothing to say there.
        """
        for suggestion in self._kept.get(snapshot.uri, ()):
            if suggestion.asked < asked:
                continue
            typed = suggestion.typed(snapshot)
            if typed is None:
                continue
            if not suggestion.done:
                # nothing is known of its text yet: only the very same question waits for it
                useful = bool(suggestion.text) or not typed
            else:
                useful = bool(suggestion.rests(typed)) or (not suggestion.text and not typed)
            if useful:
                return Match(suggestion, typed)
        return None

    def forget(self, uri: str | None = None) -> None:
        """Drop what belongs to a document, or everything."""
        if uri is None:
            self._kept.clear()
        else:
            self._kept.pop(uri, None)
