"""Logs: events with keys, as JSON for machines and in colour for people, on standard error.

structlog is there because an event with keys can be searched and counted, which a sentence cannot. What is
logged of a request never holds source code, tokens or paths: a document shows as a hash that means something
for one run of the server only, and what a client may choose is cut down to what such a field may hold.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from hashlib import blake2b
from typing import Any, TextIO

import structlog

__all__ = ["configure_logging", "document_hash", "label", "origin_of", "quiet_logger"]

_KEY = os.urandom(16)  # paths can be guessed; without the key their hashes cannot be compared
_LABEL = re.compile(r"[\w.+#@:/ -]{1,64}", re.ASCII)
_LANGUAGE_LENGTH = 32


def configure_logging(level: str, format: str, stream: TextIO | None = None) -> None:
    """Set up structlog for the process. ``format`` is "auto", "console" or "json"."""
    stream = stream or sys.stderr
    console = format == "console" or (format == "auto" and stream.isatty())
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=stream.isatty())
        if console
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def quiet_logger() -> logging.Logger:
    """The logger for the websockets library: at its debug level it writes the frames, code and all."""
    logger = logging.getLogger("codeserve.websockets")
    logger.setLevel(logging.CRITICAL)
    return logger


def document_hash(document: str) -> str:
    """Eight hexadecimal digits that stand for a document's URI for the life of this process."""
    return blake2b(document.encode("utf-8", "surrogatepass"), key=_KEY, digest_size=4).hexdigest()


def label(text: str, length: int = 64) -> str:
    """A client's name, id or language, if it looks like one; "?" if it may be anything else."""
    return text if len(text) <= length and (not text or _LABEL.fullmatch(text)) else "?"


def origin_of(error: BaseException) -> str:
    """Where an unexpected exception came from, without its message, which may quote what it choked on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    place = os.path.basename(trace.tb_frame.f_code.co_filename)
    return f"{type(error).__name__} at {place}:{trace.tb_lineno}"
