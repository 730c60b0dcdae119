"""The process that runs a program written by a model. It sees arguments, and gives results; it sees no test.

First line on standard input: the program and the name of its function, packed by `values`. Each further line:
the arguments of a call. Each line of output answers one: ``[true, result]``, or ``[false, error's name]``.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from codeserve.bench.quality import values
from codeserve.bench.quality.confine import confine

__all__ = ["main"]

_NAME = "__candidate__"


def main() -> None:
    """Serve calls until standard input ends."""
    calls, answers = _private_streams()
    program, entry_point = values.loads(calls.readline())
    barriers = confine()
    dumps, loads = values.dumps, values.loads  # the program may replace what it finds in modules

    def answer(ok: bool, value: Any) -> None:
        try:
            line = dumps([ok, value])
        except RecursionError:
            line = dumps([False, "RecursionError"])
        answers.write(line.encode() + b"\n")
        answers.flush()

    namespace: dict[str, Any] = {"__name__": _NAME}
    try:
        exec(compile(program, "<candidate>", "exec"), namespace)
        function = namespace[entry_point]
    except BaseException as exc:
        answer(False, type(exc).__name__)
        return
    answer(True, barriers)
    for line in calls:
        arguments, keywords = loads(line)
        try:
            result = function(*arguments, **keywords)
        except BaseException as exc:
            answer(False, type(exc).__name__)
        else:
            answer(True, result)


def _private_streams() -> tuple[io.BufferedReader, io.BufferedWriter]:
    """The pipes, away from descriptors 0 and 1, where what the program prints would mix with the answers."""
    calls, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode) for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    return os.fdopen(calls, "rb"), os.fdopen(answers, "wb")
