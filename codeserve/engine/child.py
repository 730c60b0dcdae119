"""The beginning of the engine's process, before vLLM is imported in it.

vLLM starts its engine by `multiprocessing`, with a main function of its own. `EngineMain` stands in for it:
its state is unpickled in the new process before anything else of the arguments, which is the moment to send
output into the pipe (importing vLLM prints already), to leave the terminal's process group (Ctrl-C is for the
server, which lets running requests end first) and to make sure that the process does not outlive the server.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection, wait
from typing import Any

from codeserve.engine import drafting
from codeserve.engine.output import PID_MARK

__all__ = ["EngineMain"]


def _follow(life: Connection) -> None:
    """End this process and all that it started once the server closes its end, or is gone however it went."""
    wait([life])
    os.killpg(os.getpid(), signal.SIGKILL)


class EngineMain:
    """Main function of the engine's process; picklable only while one is being started.

    ``output`` takes what it prints; ``life`` is readable once the server wants it gone, or is gone itself.
    ``min_accepted`` is that of `codeserve.engine.preset.Speculation`.
    """

    def __init__(self, output: Connection, life: Connection, min_accepted: float) -> None:
        self._state = (output, life, min_accepted)

    def __getstate__(self) -> tuple[Connection, Connection, float]:
        return self._state

    def __setstate__(self, state: tuple[Connection, Connection, float]) -> None:
        output, life, self._min_accepted = state
        os.setpgid(0, 0)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        output.close()
        print(PID_MARK, os.getpid(), flush=True)
        # vLLM is told to leave logging alone (VLLM_CONFIGURE_LOGGING); plain lines are easy to read here.
        logger = logging.getLogger("vllm")
        logger.addHandler(logging.StreamHandler(sys.stderr))
        logger.setLevel(logging.INFO)
        logger.propagate = False
        threading.Thread(target=_follow, args=(life,), name="follow-server", daemon=True).start()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        from vllm.v1.engine.core import EngineCoreProc

        if self._min_accepted:
            from vllm.v1.core.sched.scheduler import Scheduler

            drafting.install(Scheduler, self._min_accepted)
        EngineCoreProc.run_engine_core(*args, **kwargs)
