"""What the engine's processes print: kept for an error message, and read for how far a start has come."""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import threading
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection

__all__ = ["PID_MARK", "STAGES", "EngineOutput", "stage_of"]

STAGES = ("importing vLLM", "loading weights", "compiling", "warming up", "ready")

PID_MARK = "codeserve-engine-process"  # the first line of an engine process: this and its process id

_KEEP = 400  # lines
_LINE = 2000  # characters of one line that are kept

_MARKS = (
    (re.compile(r"Starting to load model|Loading safetensors"), "loading weights"),
    (
        re.compile(
            r"Warming up model for the compilation|torch\.compile|Dynamo bytecode|Capturing CUDA graph"
        ),
        "compiling",
    ),
)


def stage_of(line: str) -> str | None:
    """The stage of `STAGES` that a line of output shows to have begun, if any."""
    return next((stage for mark, stage in _MARKS if mark.search(line)), None)


class EngineOutput(logging.Handler):
    """A pipe for the engine's processes and a log handler for vLLM in this one; neither reaches the terminal.

    The callbacks run on the reading thread. ``on_pid`` is called for each process of the engine as it begins,
    ``on_closed`` once all of them are gone.
    """

    def __init__(
        self,
        on_stage: Callable[[str], None],
        on_pid: Callable[[int], None],
        on_closed: Callable[[], None],
    ) -> None:
        super().__init__(logging.INFO)
        self._on_stage = on_stage
        self._on_pid = on_pid
        self._on_closed = on_closed
        self._lines: deque[str] = deque(maxlen=_KEEP)
        self._reader, self._writer = multiprocessing.Pipe(duplex=False)
        self._thread = threading.Thread(target=self._read, name="engine-output", daemon=True)
        self._thread.start()

    @property
    def writer(self) -> Connection:
        """The end that the engine's processes write to."""
        return self._writer

    def tail(self) -> list[str]:
        """The last lines, oldest first."""
        return list(self._lines)

    def clear(self) -> None:
        """Forget the lines so far: what went well explains nothing later."""
        self._lines.clear()

    def seal(self) -> None:
        """Close this process's writing end, so that the pipe ends with the engine's processes. Idempotent."""
        self._writer.close()

    def join(self, timeout: float) -> None:
        """Wait until everything printed was read; needs `seal` and the end of the engine's processes."""
        self._thread.join(timeout)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record of vLLM's loggers in this process."""
        try:
            self._take(self.format(record))
        except (ValueError, TypeError):
            self.handleError(record)

    def _take(self, text: str) -> None:
        for line in text.splitlines():
            if line.startswith(PID_MARK):
                self._on_pid(int(line.split()[1]))
            elif line.strip():
                self._lines.append(line[:_LINE])
                if (stage := stage_of(line)) is not None:
                    self._on_stage(stage)

    def _read(self) -> None:
        rest = ""
        with self._reader:
            while data := os.read(self._reader.fileno(), 1 << 16):
                *whole, rest = (rest + data.decode(errors="replace")).replace("\r", "\n").split("\n")
                # A line without an end is not kept growing.
                rest = rest[-_LINE:]
                self._take("\n".join(whole))
        self._take(rest)
        self._on_closed()
