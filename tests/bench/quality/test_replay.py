"""A file written again by an author who takes what is right."""

from __future__ import annotations

import pytest

from codeserve.bench.quality.ask import Answer, Question
from codeserve.bench.quality.replay import accepted, replay
from codeserve.bench.quality.sources import Source
from codeserve.bench.quality.spots import Spot
from codeserve.protocol import Snippet

TEXT = "def f(a):\n    total = a + 1\n    return total\n"
SPOT = Spot(Source("p/f.py", "python", TEXT), TEXT.index("total"), TEXT.index("\n    return"))


class Scripted:
    """Answers by what is asked, and keeps it."""

    def __init__(self, *texts: str, outcome: str = "stop") -> None:
        self.questions: list[Question] = []
        self._texts = list(texts)
        self._outcome = outcome

    async def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        return Answer(self._texts.pop(0) if self._texts else "", self._outcome, 1.0, confidence=-0.5)


@pytest.mark.parametrize(
    ("suggestion", "rest", "count"),
    [
        ("", "abc", 0),
        ("abc", "abc", 3),
        ("abc", "abcd", 0),
        ("abc", "abc(d)", 3),
        ("abd", "abc", 0),
        ("a()\nb", "a()\nb\nc", 5),
        ("a()\nx", "a()\nb", 3),
        ("a(", "a()\n", 2),
    ],
)
def test_accepted(suggestion: str, rest: str, count: int) -> None:
    """All of it if it is next and does not end inside a word, else the first line if that is right."""
    assert accepted(suggestion, rest) == count


async def test_a_right_suggestion_is_taken() -> None:
    """One key instead of the line's characters."""
    model = Scripted("total = a + 1")
    writing = await replay(SPOT, model, mode="line", snippets=(Snippet("g.py", "x"),))
    assert (writing.keys, writing.strokes, writing.characters) == (1, 13, 13)
    assert [(one.exact, one.kept, one.length, one.accepted) for one in writing.shown] == [(True, 13, 13, 13)]
    question = model.questions[0]
    assert question.prefix == "def f(a):\n    "
    assert question.suffix == "\n    return total\n"
    assert (question.path, question.language, question.mode) == ("p/f.py", "python", "line")
    assert question.snippets == (Snippet("g.py", "x"),)
    assert writing.asked == {"empty line": 1}


async def test_typing_through_a_suggestion() -> None:
    """While what is typed agrees with what is shown, nothing new is asked; then it is."""
    model = Scripted("total = b", "a + 1")
    writing = await replay(SPOT, model, mode="auto")
    first, second = writing.shown
    assert (first.kept, first.exact, first.line_exact, first.accepted) == (8, False, False, 0)
    assert len(model.questions) == 5  # at first, and after each letter from the one that disagreed on
    assert model.questions[1].prefix.endswith("total = a")
    assert second.kept == 0
    assert writing.keys == 13


async def test_without_suggestions_each_key_asks() -> None:
    """No text, no gain: as many keys as keystrokes, a request for each."""
    model = Scripted()
    writing = await replay(SPOT, model, mode="auto")
    assert writing.keys == writing.strokes == len(model.questions) == 13
    assert writing.shown == []
    assert writing.failed == 0


async def test_failures_are_counted() -> None:
    """Answers that are errors are no honest silence."""
    writing = await replay(SPOT, Scripted(outcome="overloaded"), mode="auto")
    assert writing.failed == 13


async def test_the_first_line_of_a_block() -> None:
    """A block whose first line is right saves that line, and the author goes on behind it."""
    spot = Spot(SPOT.source, SPOT.start, TEXT.rindex("\n"))
    writing = await replay(spot, Scripted("total = a + 1\n    print(a)", "\n    return total"), mode="block")
    assert [one.accepted for one in writing.shown] == [13, 17]
    assert writing.shown[0].line_exact
    assert not writing.shown[0].exact
    assert writing.keys == 2
