"""How a server comes up, on standard error: the stage at hand and the seconds each one took."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

__all__ = ["StartupDisplay"]


class StartupDisplay:
    """Stages one below the other with a spinner on a terminal; elsewhere a plain line as each one begins."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._started = time.monotonic()
        self._stage = ""
        self._task: TaskID | None = None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the display was made."""
        return time.monotonic() - self._started

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def close(self) -> None:
        """End the last stage and the drawing; `say` still works."""
        self.finish()
        self._progress.stop()

    def stage(self, name: str) -> None:
        """Begin a stage, which ends the one before. Nothing happens if it is the one at hand."""
        if name == self._stage:
            return
        self.finish()
        self._stage = name
        if self._console.is_terminal:
            self._task = self._progress.add_task(name, total=1)
        else:
            self._console.print(f"{self.elapsed_s:5.1f} s  {name}", soft_wrap=True)

    def finish(self) -> None:
        """The stage at hand, if any, is done."""
        self._stage = ""
        if self._task is not None:
            self._progress.update(self._task, completed=1)
            self._task = None

    def say(self, text: str) -> None:
        """A line of its own that stays."""
        self._console.print(text, soft_wrap=True)
