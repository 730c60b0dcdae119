"""What the engine's processes print."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator

import attrs
import pytest

from codeserve.engine.output import PID_MARK, STAGES, EngineOutput, stage_of


@attrs.define(eq=False)
class Heard:
    """An output, with what its callbacks were told."""

    stages: list[str] = attrs.field(factory=list)
    pids: list[int] = attrs.field(factory=list)
    closed: threading.Event = attrs.field(factory=threading.Event)
    output: EngineOutput = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.output = EngineOutput(self.stages.append, self.pids.append, self.closed.set)

    def write(self, data: bytes) -> None:
        os.write(self.output.writer.fileno(), data)

    def end(self) -> list[str]:
        """The lines, once all was read."""
        self.output.seal()
        assert self.closed.wait(10)
        self.output.join(10)
        return self.output.tail()


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    yield heard
    heard.end()


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        ("INFO Starting to load model /m...", "loading weights"),
        ("Loading safetensors checkpoint shards:   0% Completed", "loading weights"),
        ("INFO Warming up model for the compilation...", "compiling"),
        ("torch.compile takes 3.1 s in total", "compiling"),
        ("Capturing CUDA graphs (decode): 10%", "compiling"),
        ("INFO nothing of note", None),
        ("", None),
    ],
)
def test_stage_of(line: str, stage: str | None) -> None:
    """A line tells the stage that it belongs to, which is one of those that are announced."""
    assert stage_of(line) == stage
    assert stage is None or stage in STAGES


def test_lines_are_kept(heard: Heard) -> None:
    """Lines are kept in their order, blank ones not, and the last without an end too."""
    heard.write(b"one\n\n  \ntwo\r\nthr")
    heard.write(b"ee\nfour")
    assert heard.end() == ["one", "two", "three", "four"]


def test_progress_bars_are_lines(heard: Heard) -> None:
    """A progress bar writes over itself; each state of it is a line."""
    heard.write(b"Loading safetensors 0%\rLoading safetensors 50%\n")
    assert heard.end() == ["Loading safetensors 0%", "Loading safetensors 50%"]
    assert heard.stages == ["loading weights", "loading weights"]


def test_stages_are_told_in_order(heard: Heard) -> None:
    """The stages are told as they come."""
    heard.write(b"Starting to load model\nnoise\nCapturing CUDA graphs\n")
    heard.end()
    assert heard.stages == ["loading weights", "compiling"]


def test_processes_are_told(heard: Heard) -> None:
    """The first line of each process tells its id, and is not kept."""
    heard.write(f"{PID_MARK} 12\nhello\n{PID_MARK} 34\n".encode())
    assert heard.end() == ["hello"]
    assert heard.pids == [12, 34]


def test_bytes_that_are_no_text(heard: Heard) -> None:
    """Bytes that are no UTF-8 do not stop the reading."""
    heard.write(b"\xff\xfe\nafter\n")
    assert heard.end()[-1] == "after"


def test_only_the_tail_is_kept(heard: Heard) -> None:
    """Of much output only the last lines are kept."""
    heard.write(b"".join(b"line %d\n" % number for number in range(1000)))
    lines = heard.end()
    assert lines[-1] == "line 999"
    assert len(lines) == 400


def test_long_lines_are_cut(heard: Heard) -> None:
    """A long line is cut to its beginning; one without an end does not grow."""
    heard.write(b"a" * 10_000 + b"\n" + b"b" * 10_000)
    assert [(line[0], len(line)) for line in heard.end()] == [("a", 2000), ("b", 2000)]


def test_closed_only_at_the_end(heard: Heard) -> None:
    """The end is told when the last writer is gone, not before."""
    other = os.dup(heard.output.writer.fileno())
    heard.output.seal()
    os.write(other, b"still here\n")
    assert not heard.closed.wait(0.05)
    os.close(other)
    assert heard.end() == ["still here"]


def test_seal_twice(heard: Heard) -> None:
    """Sealing twice does no harm."""
    heard.output.seal()
    heard.output.seal()
    assert heard.end() == []


def test_clear(heard: Heard) -> None:
    """What went well is forgotten."""
    heard.write(b"before\n")
    heard.end()
    heard.output.clear()
    assert heard.output.tail() == []


def test_log_records_are_kept(heard: Heard) -> None:
    """Records of a logger are lines like those of the processes."""
    logger = logging.Logger("test")
    logger.addHandler(heard.output)
    logger.info("Starting to load model %s\nsecond line", "m")
    logger.debug("not of interest")
    assert heard.output.tail() == ["Starting to load model m", "second line"]
    assert heard.stages == ["loading weights"]
