"""Parsing that gives way and comes to an end."""

from __future__ import annotations

import threading
import time

import pytest

from codeserve_lsp import parsing
from codeserve_lsp.parsing import Foreground, Pace, TooSlow, parse

LONG = "def f(a, b):\n    return a\n" * 4_000


def test_nodes_and_their_text() -> None:
    """Nodes of a text of any width stand for its characters; half a character does no harm."""
    parsed = parse("é = '😀'\nf = 1\n\ud83d", "python", Pace(10))
    assert parsed is not None
    assert [parsed.text(node) for node in parsed.root.named_children[:2]] == ["é = '😀'", "f = 1"]


def test_a_text_in_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is handed over in pieces, also cut inside a character, parses as one text."""
    monkeypatch.setattr(parsing, "PIECE_BYTES", 3)
    parsed = parse("x = '😀é'\n" * 50, "python", Pace(10))
    assert parsed is not None
    assert len(parsed.root.named_children) == 50
    assert not parsed.root.has_error


def test_no_grammar() -> None:
    """A language without a grammar has no tree."""
    assert parse("x", "cobol", Pace(10)) is None


def test_too_slow() -> None:
    """A text that takes longer than it may is given up, in the parser and behind it."""
    with pytest.raises(TooSlow):
        parse(LONG, "python", Pace(0.0))
    with pytest.raises(TooSlow):
        Pace(-1.0)()


def test_breaks_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads come in between while a long text is parsed."""
    breaks: list[float] = []
    monkeypatch.setattr(parsing, "BREAK_S", 0.0)
    monkeypatch.setattr(parsing.time, "sleep", breaks.append)
    parse(LONG, "python", Pace(30))
    assert len(breaks) > 3


def test_work_rests_while_messages_are_handled(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a message of the editor work stands still for a while, and not for ever."""
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(parsing.time, "monotonic", lambda: now)
    monkeypatch.setattr(parsing.time, "sleep", sleep)
    monkeypatch.setattr(parsing, "SLICE_S", 0.0)
    foreground = Foreground()
    pace = Pace(10, foreground)
    foreground.begins()
    pace()
    assert parsing.QUIET_S <= now < parsing.QUIET_S + 2 * parsing.BREAK_S
    quiet = now
    pace()
    assert now == pytest.approx(quiet + parsing.BREAK_S)
    monkeypatch.setattr(foreground, "busy", lambda: True)
    pace()
    assert now < quiet + parsing.PATIENCE_S + 4 * parsing.BREAK_S


def test_only_own_work_counts() -> None:
    """Waiting for others is not held against a piece of work."""
    pace = Pace(0.02)
    threading.Event().wait(0.05)
    pace()
    end = time.thread_time() + 0.03
    while time.thread_time() < end:
        pass
    assert pace.late()
