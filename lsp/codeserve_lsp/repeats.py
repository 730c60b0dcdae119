"""A log in which what happens again and again does not bury everything else."""

from __future__ import annotations

import logging
from collections import OrderedDict

__all__ = ["Repeats"]

# Kinds of messages that are counted; what did not come up for longest is new again.
MAX_KINDS = 256
# What did not come up for so many seconds is new again.
AGE_S = 3_600.0


class Repeats(logging.Filter):
    """Of each warning or error lets through the 1st, 10th, 100th … time in a row, with the count.

    What is the same: the logger, the message with what is filled in, and the type of an exception.
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts: OrderedDict[tuple[str, str, object], tuple[int, float]] = OrderedDict()  # and when

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        try:
            message = record.getMessage()
        except Exception:
            return True  # the handler tells that it cannot be filled in; who logs it must not fail
        exception = record.exc_info[0] if record.exc_info else None
        kind = record.name, message, exception
        count, last = self._counts.pop(kind, (0, record.created))
        count = count + 1 if record.created - last < AGE_S else 1
        self._counts[kind] = count, record.created
        if len(self._counts) > MAX_KINDS:
            self._counts.popitem(last=False)
        if count == 1:
            return True
        if str(count).strip("0") != "1":
            return False
        record.msg, record.args = f"{message} (the {count:,}th time)", ()
        return True
