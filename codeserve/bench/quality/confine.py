"""What a process does to itself before it runs code that nobody has read.

Resource limits: seconds of CPU, memory, not a byte into a file, no new process. Capabilities: none. A filter
on system calls (x86-64): no processes, programs, signals, sockets, or changes to the rights of files;
elsewhere a network namespace of its own. Where the kernel has Landlock (Linux 5.13 on), files can neither be
changed nor, outside Python's own library, be read. None of it can be taken back.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from pathlib import Path

__all__ = ["Unsafe", "confine"]

CPU_SECONDS = 5
MEMORY_BYTES = 512 << 20

# Numbers of the kernel's interface: sched.h, prctl.h, capability.h, and landlock(7) for the calls and the
# rights.
_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
_PR_SET_PDEATHSIG, _PR_GET_SECCOMP, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 21, 22, 38
_CAPABILITY_VERSION = 0x20080522
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# Landlock's rights to files by version of its interface: execute, read, write, make, remove, refer, truncate.
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}
_READABLE = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/dev/null", "/dev/urandom")

# System calls of x86-64 that a program which only computes has no use for (arch/x86/entry/syscalls).
# fmt: off
_CAPSET = 126
_DENIED = (
    41, 42, 49, 50, 53, 288, 425,  # sockets, io_uring
    56, 57, 58, 435, 59, 322,  # processes and threads, programs
    62, 129, 200, 234, 297, 424,  # signals
    90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 261, 280,  # rights, owners and times of files
    188, 189, 190, 197, 198, 199,  # extended attributes
    101, 310, 311, 438,  # other processes
    165, 166, 155, 161, 272, 308, 428, 429, 430, 442,  # mounts, roots and namespaces
    105, 106, 109, 112, 113, 114, 116, 117, 119, 126, 141, 142, 144, 160, 302,  # identity, priorities, limits
    163, 167, 168, 169, 170, 171, 175, 176, 246, 313, 321, 250, 298, 323,  # the system's own
)
# fmt: on
_AUDIT_ARCH_X86_64 = 0xC000003E
_X32 = 0x40000000  # the other numbering of the same calls
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # classic BPF
_ALLOW, _ERRNO_EPERM, _KILL = 0x7FFF0000, 0x00050001, 0x80000000


class Unsafe(Exception):
    """This system does not confine a process enough to run unknown code in it."""


def confine() -> dict[str, bool]:
    """Confine this process, for good. Returns which of the optional barriers are up.

    Raises: Unsafe when the process could still start others, or the filter is refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for limit, value in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_NPROC, 0),  # root's processes are not counted: the filter is for them
    ):
        resource.setrlimit(limit, (value, value))
    filtered = platform.machine() == "x86_64" and libc.prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0
    # The filter refuses sockets; making and unmaking namespaces by the hundred holds a kernel up for seconds.
    network = filtered or _leave_network(libc)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    files = _landlock(libc)
    if filtered and not (_drop_capabilities(libc) and _filter_calls(libc)):
        raise Unsafe("system calls cannot be filtered here")
    _require_alone()
    return {"network": network, "files": files, "system_calls": filtered}


def _leave_network(libc: ctypes.CDLL) -> bool:
    spaces = _CLONE_NEWNET | _CLONE_NEWIPC
    done: int = libc.unshare(spaces if os.geteuid() == 0 else spaces | _CLONE_NEWUSER)
    return done == 0


def _require_alone() -> None:
    try:
        child = os.fork()
    except OSError:
        return
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    raise Unsafe("processes cannot be limited here")


def _drop_capabilities(libc: ctypes.CDLL) -> bool:
    done: int = libc.syscall(_CAPSET, struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24))
    return done == 0


def _filter_calls(libc: ctypes.CDLL) -> bool:
    """A seccomp filter: the calls above fail with EPERM."""
    last = len(_DENIED)
    program = [
        (_LOAD, 0, 0, 4),  # the architecture
        (_IF_EQUAL, 1, 0, _AUDIT_ARCH_X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # the call's number
        (_IF_AT_LEAST, last + 1, 0, _X32),
        *((_IF_EQUAL, last - place, 0, call) for place, call in enumerate(_DENIED)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO_EPERM),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
    header = struct.pack("@HP", len(program), ctypes.addressof(code))
    done: int = libc.prctl(_PR_SET_SECCOMP, 2, header, 0, 0)
    return done == 0


def _landlock(libc: ctypes.CDLL) -> bool:
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    rights = _FILE_RIGHTS[min(version, max(_FILE_RIGHTS))]
    attributes = struct.pack("=Q", rights)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    for path in {*_READABLE, *(path for path in sys.path if Path(path).is_dir())}:
        _allow_reading(libc, ruleset, path)
    done: int = libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return done == 0


def _allow_reading(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rights = _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0)
    libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    os.close(place)
