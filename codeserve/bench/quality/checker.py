"""The process that tests a candidate: it runs the data set's own code, and calls the candidate over a pipe.

The comparisons are made here, out of the candidate's reach: it can neither change what ``==`` or ``abs``
mean, nor end the test early and look as if it had passed. What it can do is answer wrongly, late or not at
all.
"""

from __future__ import annotations

import resource
import sys
from typing import Any, BinaryIO

from codeserve.bench.quality import values

__all__ = ["main"]

_CPU_SECONDS = 10
_MEMORY_BYTES = 1 << 30
_MOST_BYTES = 1 << 20  # of one answer


class _Failed(Exception):
    """The candidate raised an error, broke off, or said what is no answer."""


class _Proxy:
    """The candidate's function, as the test sees it."""

    def __init__(self, calls: BinaryIO, answers: BinaryIO) -> None:
        self._calls = calls
        self._answers = answers

    def start(self, program: str, entry_point: str) -> Any:
        """Load the program. Returns what `confine` does. Raises: _Failed."""
        return self._exchange((program, entry_point))

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._exchange((arguments, keywords))

    def _exchange(self, message: object) -> Any:
        try:
            self._calls.write(values.dumps(message).encode() + b"\n")
            self._calls.flush()
            line = self._answers.readline(_MOST_BYTES)
        except OSError as exc:
            raise _Failed("it ended") from exc
        if not line.endswith(b"\n"):
            raise _Failed("it ended" if len(line) < _MOST_BYTES else "its answer is too long")
        try:
            ok, value = values.loads(line)
        except ValueError as exc:
            raise _Failed("its answer cannot be read") from exc
        if ok is not True:
            raise _Failed(str(value))
        return value


def _check(proxy: _Proxy, program: str, reference: str, test: str, entry_point: str) -> dict[str, Any]:
    """``{"verdict": "passed" | "failed", "reason", "barriers"}``."""
    barriers: Any = None
    try:
        barriers = proxy.start(program, entry_point)
        # What else the test needs, and what it calls the function itself by its name.
        namespace: dict[str, Any] = {"__name__": "__checker__"}
        exec(compile(reference, "<reference>", "exec"), namespace)
        namespace[entry_point] = proxy
        exec(compile(test, "<test>", "exec"), namespace)
        namespace["check"](proxy)
    except Exception as exc:
        reason = f"{type(exc).__name__}: {exc}" if isinstance(exc, _Failed) else type(exc).__name__
        return {"verdict": "failed", "reason": reason.removeprefix("_Failed: "), "barriers": barriers}
    return {"verdict": "passed", "reason": "", "barriers": barriers}


def main(calls: int, answers: int) -> None:
    """Read the job, packed by `values`, from standard input, and write the verdict to standard output.

    ``calls`` and ``answers`` are the descriptors of the pipes to and from the candidate.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    job = values.loads(sys.stdin.buffer.readline())
    with open(calls, "wb") as to, open(answers, "rb") as back:
        verdict = _check(_Proxy(to, back), **job)
        sys.stdout.write(values.dumps(verdict) + "\n")
        sys.stdout.flush()
