"""Real files written again, keystroke by keystroke, with a completion asked for after each one.

The author. Goes to a place in a file that is whole but for what they will write there; writes that. After
each keystroke the editor asks for a completion, unless the one that it shows goes on with what was typed,
as editors do. The author looks at once, and takes a suggestion if all of it is what comes next, or its
first line if that is the rest of the line; any other is typed over. Accepting costs one key.
"""

from __future__ import annotations

import attrs

from codeserve.bench.quality.ask import Answer, Asker, Question
from codeserve.bench.quality.cursor import Positions
from codeserve.bench.quality.score import edit_similarity, kept
from codeserve.bench.quality.spots import Spot, keystrokes
from codeserve.protocol import Mode, Snippet

__all__ = ["Shown", "Writing", "accepted", "replay"]


@attrs.frozen
class Shown:
    """One suggestion that the author saw."""

    position: str  # one of `cursor.POSITIONS`
    length: int  # characters
    kept: int  # of them, from the first one on, that the author typed the same
    exact: bool  # all of it is what the author wrote next, to the end of a line or of the writing
    line_exact: bool  # its first line is
    similarity: float  # to as many lines of what the author wrote next
    accepted: int  # characters that the author took
    confidence: float | None


@attrs.define
class Writing:
    """What became of one place."""

    path: str
    language: str
    characters: int = 0  # written in all
    keys: int = 0  # pressed for them, those that accept a suggestion included
    strokes: int = 0  # keys that it takes without any suggestion
    asked: dict[str, int] = attrs.field(factory=dict)  # requests by position
    failed: int = 0  # requests that ended in an error or at the deadline without text
    shown: list[Shown] = attrs.field(factory=list)


def accepted(suggestion: str, rest: str) -> int:
    """How many characters of a suggestion the author takes, who is going to write ``rest``."""
    if suggestion and _continues(suggestion, rest):
        return len(suggestion)
    first = suggestion.partition("\n")[0]
    return len(first) if first and first == rest.partition("\n")[0] else 0


def _continues(suggestion: str, rest: str) -> bool:
    """Whether the suggestion is what comes next, up to an end that makes sense to stop at."""
    if not rest.startswith(suggestion):
        return False
    following = rest[len(suggestion) : len(suggestion) + 1]
    return not (following and _word(suggestion[-1]) and _word(following))


def _word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


async def replay(spot: Spot, ask: Asker, *, mode: Mode, snippets: tuple[Snippet, ...] = ()) -> Writing:
    """Write what the spot's author wrote."""
    source = spot.source
    positions = Positions(source.text, source.language)
    writing = Writing(source.path, source.language, len(spot.written))
    writing.strokes = sum(1 for _ in keystrokes(spot.written))
    at, visible = spot.start, ""
    while at < spot.end:
        rest = source.text[at : spot.end]
        if not visible:
            position = positions.kind(at, spot.end)
            writing.asked[position] = writing.asked.get(position, 0) + 1
            question = Question(source.text[:at], spot.suffix, source.path, source.language, mode, snippets)
            answer = await ask(question)
            visible = answer.text
            writing.failed += not visible and answer.outcome not in ("stop", "length", "no_suggestion")
            if visible:
                writing.shown.append(_shown(position, answer, rest))
        taken = accepted(visible, rest)
        key = rest[:taken] or next(keystrokes(rest))
        writing.keys += 1
        at += len(key)
        visible = visible[len(key) :] if not taken and visible.startswith(key) else ""
    return writing


def _shown(position: str, answer: Answer, rest: str) -> Shown:
    text = answer.text
    lines = "\n".join(rest.split("\n")[: text.count("\n") + 1])
    return Shown(
        position=position,
        length=len(text),
        kept=kept(text, rest),
        exact=text == lines,
        line_exact=text.partition("\n")[0] == rest.partition("\n")[0],
        similarity=edit_similarity(text, lines),
        accepted=accepted(text, rest),
        confidence=answer.confidence,
    )
