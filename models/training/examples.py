"""Training examples: token ids as the server's prompts have them, followed by the middle and its end.

The layout is CodeLlama's (`infilling_prompt_tokens` of Meta's `generation.py`); the order within it, the
leading space and the snippets of other files are what `codeserve.completion` sends, which a test compares.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from codeserve.completion.tokens import Tokenizer
from training.corpus import Corpus, Shard
from training.cursors import draw_split

__all__ = ["Example", "Sampler", "Sentinels", "assemble"]

PLAIN_SHARE = 0.08
SUFFIX_FIRST_SHARE = 0.7
CONTEXT_SHARE = 0.25  # of the examples that have room for other files
NO_SUFFIX_SHARE = 0.1  # typing at the end of a file
MIDDLE_WEIGHT = 6.0  # in the loss; what is asked for is one token in a hundred, on average
_MIN_CONTEXT_ROOM = 384
_CANDIDATES = 6  # files that are looked at for a snippet
_SNIPPET_LINES = 24
_LINES_AHEAD = 16  # behind the cursor's line that the middle may reach into
_END_OF_FILE = "\n"
_COMMENT = {"python": "# "}
_SIGNATURE = re.compile(
    r"\s*(?:@\w|(?:async )?def |class |export |(?:async )?function |interface |type |import |from )"
)


@dataclass(frozen=True)
class Sentinels:
    """CodeLlama's ids."""

    bos: int = 1
    eos: int = 2
    prefix: int = 32007
    suffix: int = 32008
    middle: int = 32009
    end: int = 32010


IDS = Sentinels()


@dataclass
class Example:
    """Token ids, and for each the weight with which predicting it counts."""

    ids: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    middle: int = 0  # how many ids at the end are the middle and its end

    def add(self, ids: list[int], weight: float) -> None:
        self.ids += ids
        self.weights += [weight] * len(ids)


def assemble(
    header: list[int], prefix: list[int], suffix: list[int], middle: list[int], *, suffix_first: bool
) -> Example:
    """An infilling example. Where the text is cut is not to be learned, nor is the header."""
    example = Example()
    if suffix_first:
        example.add([IDS.bos, IDS.prefix, IDS.suffix], 0.0)
        example.add(suffix, 1.0)
        example.add([IDS.middle, *header], 0.0)
        example.add(prefix, 1.0)
    else:
        example.add([IDS.bos, IDS.prefix, *header], 0.0)
        example.add(prefix, 1.0)
        example.add([IDS.suffix], 0.0)
        example.add(suffix, 1.0)
        example.add([IDS.middle], 0.0)
    example.add([*middle, IDS.end], MIDDLE_WEIGHT)
    example.middle = len(middle) + 1
    return example


class Sampler:
    """Draws examples from a corpus."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self._corpus = corpus
        self._tokenizer = tokenizer

    def draw(self, token: int, room: int, random: np.random.Generator) -> Example | None:
        """An example around a token of the corpus, ``room`` ids at most; None where there is none."""
        shard, place = self._corpus.at(token)
        at = shard.line_at(place)
        document = int(np.searchsorted(shard.documents, at, "right")) - 1
        if random.random() < PLAIN_SHARE:
            return self._plain(shard, document, at, room)
        return self._infilling(shard, document, at, room, random)

    def _plain(self, shard: Shard, document: int, at: int, room: int) -> Example:
        first, end = int(shard.documents[document]), int(shard.documents[document + 1])
        if int(shard.lines[end] - shard.lines[first]) > room - 3:
            first = at
        start = self._text(shard, first, first + 1)[0]
        ids = self._tokenizer.encode(start) + shard.span(first + 1, end)
        example = Example()
        example.add([IDS.bos], 0.0)
        example.add([*ids, IDS.eos][: room - 1], 1.0)
        return example

    def _infilling(
        self, shard: Shard, document: int, at: int, room: int, random: np.random.Generator
    ) -> Example | None:
        first, end = int(shard.documents[document]), int(shard.documents[document + 1])
        lines = self._text(shard, at, min(end, at + _LINES_AHEAD))
        skipped = next((index for index, line in enumerate(lines) if line.strip()), None)
        if skipped is None:
            return None
        at, lines = at + skipped, lines[skipped:]
        split = draw_split(lines, 0, random)
        (_, start), (last, stop) = split.start, split.end
        before = lines[0][:start]
        if last >= len(lines):  # the middle takes the last line's end with it
            middle_text, after = "".join(lines)[start:], ""
        else:
            middle_text = "".join([*lines[:last], lines[last][:stop]])[start:]
            after = lines[last][stop:]
        middle = self._tokenizer.encode_infilling(middle_text)
        left = room - len(middle) - 5
        if left < 32:
            return None
        suffix = self._suffix(shard, at + last + 1, end, after, left, random)
        left -= len(suffix)
        header: list[int] = []
        if room >= _MIN_CONTEXT_ROOM and random.random() < CONTEXT_SHARE:
            header = self._header(shard, document, at, min(left // 2, room // 4), random)
            left -= len(header)
        prefix = self._prefix(shard, first, at, before, left, leading=not header)
        return assemble(
            header, prefix, suffix, middle, suffix_first=bool(random.random() < SUFFIX_FIRST_SHARE)
        )

    def _suffix(
        self, shard: Shard, line: int, end: int, after: str, left: int, random: np.random.Generator
    ) -> list[int]:
        """What stands behind the middle: the rest of its line and whole lines, as far as there is room."""
        # only behind a whole line: the end of the file does not stand in for the rest of one
        if not after.strip() and random.random() < NO_SUFFIX_SHARE:
            return self._tokenizer.encode_infilling(_END_OF_FILE)
        limit = int(left * random.uniform(0.15, 0.45))
        ids = self._tokenizer.encode_infilling(after)
        if line < end:
            starts = shard.lines[line : min(end, line + limit) + 1].astype(np.int64)
            fitting = int(np.searchsorted(starts - starts[0], limit - len(ids), "right")) - 1
            ids = ids + shard.span(line, line + max(fitting, 0))
        return ids[:limit] or self._tokenizer.encode_infilling(_END_OF_FILE)

    def _prefix(
        self, shard: Shard, first: int, at: int, before: str, left: int, *, leading: bool
    ) -> list[int]:
        """What stands in front of the cursor, from a line's start; SentencePiece's space in front of it
        all.
        """
        encode = self._tokenizer.encode if leading else self._tokenizer.encode_infilling
        last = self._tokenizer.encode_infilling(before)
        # the space in front may cost a token or two
        ends = int(shard.lines[at]) - shard.lines[max(first, at - left) : at + 1].astype(np.int64)
        begin = at - int((ends[:-1] <= left - len(last) - 3).sum())
        if begin == at:
            return encode(before)[:left] if before else []
        return encode(self._text(shard, begin, begin + 1)[0]) + shard.span(begin + 1, at) + last

    def _header(
        self, shard: Shard, document: int, at: int, limit: int, random: np.random.Generator
    ) -> list[int]:
        """Snippets of other files of the package, as comments, like those that an editor's context gives."""
        files = shard.siblings(document)
        if len(files) < 2:
            return []
        near = np.unique(
            shard.ids[shard.lines[max(0, at - 20)] : shard.lines[min(at + 20, len(shard.lines) - 1)]]
        )
        ids: list[int] = []
        for _ in range(int(random.integers(1, 4))):
            found = [self._window(shard, document, files, near, random) for _ in range(_CANDIDATES)]
            _, other, first, last = max(found)
            if other == document:
                continue
            text = self._render(shard, other, first, last, outline=bool(random.random() < 0.4))
            part = self._tokenizer.encode(text) if not ids else self._tokenizer.encode_infilling(text)
            if len(ids) + len(part) > limit:
                break
            ids += part
        return ids

    def _window(
        self, shard: Shard, document: int, files: range, near: np.ndarray, random: np.random.Generator
    ) -> tuple[float, int, int, int]:
        """Some lines of another file and how much they have in common with those around the cursor."""
        other = files[int(random.integers(0, len(files)))]
        first, end = int(shard.documents[other]), int(shard.documents[other + 1])
        first = int(random.integers(first, max(first + 1, end - _SNIPPET_LINES // 2)))
        last = min(end, first + _SNIPPET_LINES)
        ids = np.unique(shard.ids[shard.lines[first] : shard.lines[last]])
        common = len(np.intersect1d(ids, near, assume_unique=True))
        return (common / max(len(ids), 1) if other != document else -1.0), other, first, last

    def _render(self, shard: Shard, document: int, first: int, last: int, *, outline: bool) -> str:
        lines = self._text(shard, first, last)
        if outline:
            start, end = int(shard.documents[document]), int(shard.documents[document + 1])
            whole = self._text(shard, start, min(end, start + 20 * _SNIPPET_LINES))
            lines = [line for line in whole if _SIGNATURE.match(line)][: 2 * _SNIPPET_LINES] or lines
        mark = _COMMENT.get(shard.languages[document], "// ")
        text = "".join(lines).rstrip().split("\n")
        return "".join(f"{mark}{line}".rstrip() + "\n" for line in [f"Path: {shard.paths[document]}", *text])

    def _text(self, shard: Shard, first: int, last: int) -> list[str]:
        """Lines as text, with their ends."""
        decode = self._tokenizer.decode_infilling
        return [decode(shard.span(line, line + 1)) for line in range(first, last)]
