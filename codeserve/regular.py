"""Files that somebody else may have named: read whole, never waited for, and only so far."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["read_regular"]


def read_regular(path: Path, limit: int) -> bytes:
    """The content of a regular file of ``limit`` bytes at most.

    A pipe that nobody writes to would be waited for, a device may have no end: neither is read.
    Raises: OSError, also for what is no regular file or is larger; ValueError for what is no path.
    """
    # without O_NONBLOCK opening a pipe waits for its writer
    flags = (
        os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    )
    with open(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit} bytes")
    return content
