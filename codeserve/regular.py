"""Files that somebody else may have named: never waited for, and read only so far.

A pipe that nobody writes to would be waited for, a device may have no end: neither is opened for good.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_regular", "read_regular"]

# Without O_NONBLOCK opening a pipe waits for its writer. What a system does not have is 0.
_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


def open_regular(path: Path) -> BinaryIO:
    """A regular file, to be read and closed.

    Raises: OSError, also for what is no regular file; ValueError for what is no path.
    """
    descriptor = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file")
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, limit: int) -> bytes:
    """The content of a regular file of ``limit`` bytes at most.

    Raises: OSError, also for what is no regular file or is larger; ValueError for what is no path.
    """
    with open_regular(path) as file:
        # None for one of the kernel's that has nothing yet
        content = file.read(limit + 1) or b""
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit} bytes")
    return content
