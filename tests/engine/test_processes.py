"""Ending processes by group."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil

from codeserve.engine.processes import kill_groups, wait_gone

# A process with a child of its own; both would live for a minute.
_FAMILY = (
    "import subprocess, time; subprocess.Popen(['sleep', '60']); print('up', flush=True); time.sleep(60)"
)


def test_a_group_is_ended_as_a_whole() -> None:
    """A process is ended with all that it has started; groups that are gone are no trouble."""
    process = subprocess.Popen(
        [sys.executable, "-c", _FAMILY], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children()]
    assert len(family) == 2
    assert not wait_gone([process.pid], 0.05)
    kill_groups([process.pid])
    process.wait(5)
    process.stdout.close()
    psutil.wait_procs(family, 5)
    assert not any(one.is_running() and one.status() != "zombie" for one in family)
    kill_groups([process.pid])


def test_nothing_to_wait_for() -> None:
    """Without groups there is nothing to wait for."""
    began = time.monotonic()
    assert wait_gone([], 5)
    assert time.monotonic() - began < 1
