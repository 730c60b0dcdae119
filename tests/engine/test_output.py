"""What the engine's processes print."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator

import attrs
import pytest

from codeserve.engine.output import PID_MARK, EngineOutput, stage_of


@attrs.define
class Heard:
    stages: list[str] = attrs.field(factory=list)
    pids: list[int] = attrs.field(factory=list)
    closed: threading.Event = attrs.field(factory=threading.Event)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def output(heard: Heard) -> Iterator[EngineOutput]:
    one = EngineOutput(heard.stages.append, heard.pids.append, heard.closed.set)
    yield one
    one.seal()
    one.join(5)


def write(output: EngineOutput, data: bytes) -> None:
    os.write(output.writer.fileno(), data)


def end(output: EngineOutput, heard: Heard) -> None:
    output.seal()
    assert heard.closed.wait(5)


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        ("(EngineCore pid=1) INFO Starting to load model /m...", "loading weights"),
        ("Loading safetensors checkpoint shards:   0% Completed", "loading weights"),
        ("Warming up model for the compilation...", "compiling"),
        ("Dynamo bytecode transform time: 3.2 s", "compiling"),
        ("Capturing CUDA graphs (PIECEWISE): 10%", "compiling"),
        ("Using max model len 4096", None),
    ],
)
def test_stages(line: str, stage: str | None) -> None:
    """vLLM's own words tell how far a start has come."""
    assert stage_of(line) == stage


def test_lines_and_stages(output: EngineOutput, heard: Heard) -> None:
    """Lines are kept, progress bars and halves of lines included, and stages told as they come."""
    write(output, b"Starting to load model\nbar 10%\rbar 90%\r\nhal")
    write(output, b"f\n\xff\xfe odd bytes\nWarming up model for the compilation")
    end(output, heard)
    assert output.tail()[:4] == ["Starting to load model", "bar 10%", "bar 90%", "half"]
    assert "odd bytes" in output.tail()[4]
    assert heard.stages == ["loading weights", "compiling"]


def test_processes_are_told(output: EngineOutput, heard: Heard) -> None:
    """A process that begins is told by its id, which is no line of output."""
    write(output, f"{PID_MARK} 4711\nhello\n".encode())
    end(output, heard)
    assert heard.pids == [4711]
    assert output.tail() == ["hello"]


def test_tail_is_bounded(output: EngineOutput, heard: Heard) -> None:
    """Neither many lines nor an endless one fill the memory."""
    write(output, b"".join(b"%d\n" % number for number in range(1000)))
    for _ in range(20):
        write(output, b"x" * 10_000)
    end(output, heard)
    lines = output.tail()
    assert len(lines) <= 400
    assert lines[-2] == "999"
    assert len(lines[-1]) <= 2000


def test_log_records_are_kept(output: EngineOutput) -> None:
    """As a log handler it keeps what this process says, and forgets when told to."""
    record = logging.LogRecord("vllm", logging.WARNING, __file__, 1, "seed %d", (0,), None)
    output.handle(record)
    assert output.tail() == ["seed 0"]
    output.clear()
    assert output.tail() == []
