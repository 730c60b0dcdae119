"""What `codeserve serve` shows while the engine loads."""

from __future__ import annotations

import io

from rich.console import Console

from codeserve.commands.startup import StartupDisplay


def test_plain_lines_without_a_terminal() -> None:
    """Each stage is one line with the seconds so far; the same stage again is no news."""
    out = io.StringIO()
    with StartupDisplay(Console(file=out)) as display:
        display.stage("importing vLLM")
        display.stage("importing vLLM")
        display.stage("loading weights")
        display.close()
        display.say("ready")
    lines = out.getvalue().splitlines()
    assert [line.split(maxsplit=2)[2] for line in lines[:2]] == ["importing vLLM", "loading weights"]
    assert lines[0].endswith("0.0 s  importing vLLM")
    assert lines[2:] == ["ready"]


def test_terminal_shows_finished_stages_and_the_one_at_hand() -> None:
    """On a terminal the stages stay, ticked off one after the other; logs go above them."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    with StartupDisplay(console) as display:
        display.stage("importing vLLM")
        display.stage("loading weights")
        display.close()
        display.say("ready")
    drawn = out.getvalue()
    assert "✓ importing vLLM  0:00:00\n✓ loading weights 0:00:00" in drawn
    assert drawn.rstrip().endswith("ready")
