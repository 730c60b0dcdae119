"""Programs that want to do harm, or to pass without being right."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import psutil
import pytest

from codeserve.bench.quality import sandbox as module
from codeserve.bench.quality.problems import load_problems
from codeserve.bench.quality.sandbox import Sandbox, Verdict
from codeserve.errors import ConfigError

TEST = (
    "def check(candidate):\n    assert abs(candidate(2) - 4) == 0\n    assert len(str(candidate(3))) == 1\n"
)
RIGHT = "def f(x):\n    return x * 2\n"


async def judge(program: str, *, test: str = TEST, reference: str = "", seconds: float = 20.0) -> Verdict:
    """The verdict on a program whose function is ``f``."""
    return await Sandbox(seconds=seconds).judge(program, reference=reference, test=test, entry_point="f")


async def test_right_and_wrong() -> None:
    """A right program passes, a wrong one fails with the error's name."""
    assert (await judge(RIGHT)).passed
    assert (await judge("def f(x):\n    return x\n")).reason == "AssertionError"
    assert (await judge("def f(x)\n")).reason == "SyntaxError"
    assert (await judge("def g(x):\n    return 4\n")).reason == "KeyError"


async def test_the_reference_helps_the_test() -> None:
    """What else the test calls comes from the right program; the function's own name is the candidate."""
    reference = "def helper(x):\n    return x + 1\ndef f(x):\n    return 99\n"
    test = "def check(candidate):\n    assert helper(candidate(2)) == 5 and f(2) == 4\n"
    assert (await judge(RIGHT, test=test, reference=reference)).passed


@pytest.mark.parametrize(
    "program",
    [
        "import sys\nsys.exit(0)",
        "import os\nos._exit(0)",
        "def f(x):\n    raise SystemExit(0)",
        "def f(x):\n    import os\n    os._exit(0)",
        "class Equal(int):\n    __eq__ = lambda a, b: True\n    __sub__ = lambda a, b: 0\n"
        "def f(x):\n    return Equal(7)",
        "class Any:\n    __eq__ = lambda a, b: True\n    __sub__ = lambda a, b: 0\n"
        "def f(x):\n    return Any()",
        "import builtins\nbuiltins.abs = lambda x: 0\nbuiltins.len = lambda x: 1\ndef f(x):\n    return 77",
        "import json\njson.dumps = lambda x: '[\"plain\", true]'\ndef f(x):\n    return 77",
        "def check(candidate): pass\ndef f(x):\n    return 77",
        "print('passed')\ndef f(x):\n    print('passed')",
        "import os\nfor n in range(3, 64):\n    try: os.write(n, b'[\"plain\", true]\\n')\n"
        "    except OSError: pass\ndef f(x):\n    return 77",
        "def f(x):\n    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)\n    return 77",
    ],
    ids=[
        "exit",
        "exit at once",
        "exit in the call",
        "exit at once in the call",
        "equals everything, a number",
        "equals everything",
        "patched builtins",
        "patched json",
        "own check",
        "prints",
        "writes to every descriptor",
        "kills the checker",
    ],
)
async def test_no_program_passes_unless_it_is_right(program: str) -> None:
    """Leaving early, patching what the test uses and forging answers all fail."""
    assert not (await judge(program)).passed


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import os\n    while True: os.fork()", "PermissionError"),
        ("import subprocess\n    subprocess.run(['true'])", "PermissionError"),
        ("import threading\n    threading.Thread(target=print).start()", "RuntimeError"),
        ("import socket\n    socket.socket()", "PermissionError"),
        ("import os\n    os.kill(1, 9)", "PermissionError"),
        ("return 'x' * (1 << 40)", "MemoryError"),
        ("a = []\n    while True: a.append('x' * 1_000_000)", "MemoryError"),
        ("return 'x' * (1 << 21)", "its answer is too long"),
    ],
    ids=[
        "fork bomb",
        "programs",
        "threads",
        "network",
        "signals",
        "memory",
        "memory in steps",
        "long answer",
    ],
)
async def test_harm_is_refused(body: str, reason: str) -> None:
    """Processes, the network, signals and memory are out of reach."""
    verdict = await judge(f"def f(x):\n    {body}\n    return 4\n")
    assert not verdict.passed
    assert reason in (verdict.reason, "RuntimeError") or verdict.reason in (
        "PermissionError",
        "BlockingIOError",
    )


def test_files_stay_as_they_are(tmp_path: Path) -> None:
    """Nothing is written, made, removed or given other rights, here or elsewhere."""
    victim = tmp_path / "victim"
    victim.write_text("whole")
    victim.chmod(0o666)
    tmp_path.chmod(0o777)
    for action in (
        f"open({str(victim)!r}, 'w').write('x')",
        f"open({str(tmp_path / 'new')!r}, 'w').write('x')",
        "open('here', 'w').write('x')",
        f"__import__('os').remove({str(victim)!r})",
        f"__import__('os').chmod({str(victim)!r}, 0)",
        f"__import__('os').rename({str(victim)!r}, {str(tmp_path / 'other')!r})",
    ):
        verdict = asyncio.run(judge(f"def f(x):\n    {action}\n    return x * 2\n"))
        assert not verdict.passed, action
    assert [path.name for path in tmp_path.iterdir()] == ["victim"]
    assert victim.read_text() == "whole"
    assert victim.stat().st_mode & 0o777 == 0o666


def test_tests_cannot_be_read(tmp_path: Path) -> None:
    """A program that looks for the answers on the disk finds no file that it may read."""
    secret = tmp_path / "answers"
    secret.write_text("4")
    verdict = asyncio.run(judge(f"def f(x):\n    return int(open({str(secret)!r}).read())\n"))
    assert not verdict.passed


@pytest.mark.parametrize(
    "body", ["while True: pass", "import time\n    time.sleep(600)"], ids=["busy", "idle"]
)
async def test_time_is_limited(body: str) -> None:
    """A program that does not end is ended, with nothing left of it."""
    began = time.monotonic()
    verdict = await judge(f"def f(x):\n    {body}\n", seconds=1.5)
    assert verdict == Verdict(False, "timeout")
    assert time.monotonic() - began < 15
    mine = psutil.Process().children(recursive=True)
    assert not [child for child in mine if "codeserve.bench.quality" in " ".join(child.cmdline())]


async def test_environment_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program sees no variable of the user's, and an empty folder."""
    monkeypatch.setenv("SECRET", "s3cr3t")
    program = "import os\nSEEN = dict(os.environ)\ndef f(x):\n    return 4 if 'SECRET' not in SEEN else 0\n"
    assert (await judge(program, test="def check(candidate):\n    assert candidate(2) == 4\n")).passed


async def test_solutions_pass() -> None:
    """The data set's own solutions pass its tests in here."""
    sandbox = Sandbox()
    for problem in load_problems("single-line")[::40]:
        right = problem.program(problem.solution)
        verdict = await sandbox.judge(
            right, reference=right, test=problem.test, entry_point=problem.entry_point
        )
        assert verdict.passed, (problem.id, verdict.reason)


async def test_a_program_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same program under the same test is judged once, however often it is asked."""
    runs = []
    original = Sandbox._run

    async def run(self: Sandbox, job: dict[str, str]) -> Verdict:
        runs.append(job)
        return await original(self, job)

    monkeypatch.setattr(Sandbox, "_run", run)
    sandbox = Sandbox()
    for _ in range(3):
        assert (await sandbox.judge(RIGHT, reference="", test=TEST, entry_point="f")).passed
    assert len(runs) == 1


async def test_trial() -> None:
    """A sandbox says which barriers are up; on Linux on x86-64 the filter of system calls is one."""
    barriers = await Sandbox().try_out()
    assert set(barriers) == {"network", "files", "system_calls"}
    if os.uname().machine == "x86_64":
        assert barriers["system_calls"]


async def test_trial_fails_where_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be confined, one line says what to do."""
    monkeypatch.setattr(module, "_TRIAL", "def one():\n    return 2\n")
    with pytest.raises(ConfigError, match="programs cannot be run in a sandbox"):
        await Sandbox().try_out()
