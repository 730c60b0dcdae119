"""Whether a program passes a test, found out without giving the program a chance to do harm or to cheat.

Two processes, each in a group of its own: the candidate (`candidate`, confined by `confine`) runs the
program, the checker (`checker`) runs the test and calls the candidate over a pipe. Both get an empty
environment, an empty folder, and so many seconds; then both are killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import attrs

import codeserve
from codeserve.bench.quality import values
from codeserve.errors import ConfigError

__all__ = ["Sandbox", "Verdict"]

# Isolated from the user's environment and packages; the project's own modules are put in front by hand, and
# taken out again before the program runs.
_FLAGS = ("-I", "-S", "-B", "-X", "utf8")
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from codeserve.bench.quality.{module} import main; "
    "del sys.path[0]; main({arguments})"
)
_ROOT = str(Path(codeserve.__file__).resolve().parent.parent)

_TRIAL = "import collections, hashlib, math, random, re, typing\ndef one():\n    return math.floor(1.5)\n"
_TRIAL_TEST = "def check(candidate):\n    assert candidate() == 1\n"


@attrs.frozen
class Verdict:
    """What became of one program."""

    passed: bool
    reason: str  # "" when passed; an error's name, "it ended", "timeout", …
    barriers: dict[str, bool] | None = None  # see `confine.confine`; None when the program did not load


class Sandbox:
    """Judges programs, a few at a time. The same program under the same test is run once."""

    def __init__(self, *, seconds: float = 60.0, at_once: int | None = None) -> None:
        """``seconds`` is for each program, by the clock, however busy the machine is."""
        self._seconds = seconds
        self._slots = asyncio.Semaphore(at_once or len(os.sched_getaffinity(0)))
        self._known: dict[tuple[str, str], asyncio.Task[Verdict]] = {}

    async def try_out(self) -> dict[str, bool]:
        """See that a right program passes here. Returns which optional barriers are up.

        Raises: ConfigError when this machine cannot confine a process, or its Python does not run in there.
        """
        verdict = await self.judge(_TRIAL, reference="", test=_TRIAL_TEST, entry_point="one")
        if not verdict.passed or verdict.barriers is None:
            raise ConfigError(
                f"programs cannot be run in a sandbox on this machine ({verdict.reason}): use Linux, and a "
                "Python whose library every user can read"
            )
        return verdict.barriers

    async def judge(self, program: str, *, reference: str, test: str, entry_point: str) -> Verdict:
        """Run ``test`` on the function ``entry_point`` of ``program``.

        ``reference`` is a right program: it defines what else the test calls.
        """
        key = (program, test)
        if key not in self._known:
            job = {"program": program, "reference": reference, "test": test, "entry_point": entry_point}
            self._known[key] = asyncio.create_task(self._run(job))
        return await self._known[key]

    async def _run(self, job: dict[str, str]) -> Verdict:
        async with self._slots:
            with tempfile.TemporaryDirectory(prefix="codeserve-sandbox-") as folder:
                return await self._judge(job, folder)

    async def _judge(self, job: dict[str, str], folder: str) -> Verdict:
        calls_out, calls_in = os.pipe()
        answers_out, answers_in = os.pipe()
        ours = [calls_out, calls_in, answers_out, answers_in]
        processes: list[asyncio.subprocess.Process] = []
        try:
            processes.append(await _start("candidate", "", folder, stdin=calls_out, stdout=answers_in))
            checker = await _start(
                "checker",
                f"{calls_in}, {answers_out}",
                folder,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                pass_fds=(calls_in, answers_out),
            )
            processes.append(checker)
            while ours:  # so that an end of one process is seen by the other
                os.close(ours.pop())
            async with asyncio.timeout(self._seconds):
                said, _ = await checker.communicate(values.dumps(job).encode() + b"\n")
        except TimeoutError:
            return Verdict(False, "timeout")
        finally:
            for descriptor in ours:
                os.close(descriptor)
            for process in processes:
                await _kill(process)
        return _verdict(said)


async def _start(module: str, arguments: str, folder: str, **options: Any) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, *_FLAGS, "-c", _BOOT.format(module=module, arguments=arguments), _ROOT),
        cwd=folder,
        env={},
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        **options,
    )


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _verdict(said: bytes) -> Verdict:
    try:
        body = values.loads(said)
    except ValueError:  # the checker itself ran out of time or memory
        return Verdict(False, "the test ended")
    return Verdict(body["verdict"] == "passed", body["reason"], body["barriers"])
