"""`codeserve serve`: what it refuses at once, and the whole of it with the real engine."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from codeserve.client import Client
from codeserve.protocol import Finish
from tests.cli.command import codeserve

GETTERS = "".join(f"def get_{name}(self):\n    return self.{name}\n\n\n" for name in "abcdefghijklmnop")
SOURCE = f"import os\n\n\n{GETTERS}def read_lines(path):\n    with open(path) as f:\n        return"


async def test_what_cannot_work_is_refused_at_once(tmp_path: Path) -> None:
    """Wrong settings, models and tokens end in one line before anything is loaded."""
    half = tmp_path / "half"
    half.mkdir()
    (half / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    cases = {
        ("--model", "no-such-model"): "unknown model 'no-such-model'",
        ("--model", str(tmp_path / "none")): "is not a folder",
        ("--model", str(half)): "half has no tokenizer.json",
        ("--port", "70000"): "--port must be from 0 to 65535",
        ("--config", str(tmp_path / "none.toml")): "--config: no file at",
        ("--host", "0.0.0.0"): "needs a token",
        ("--token-file", str(tmp_path / "none")): "no token file at",
        ("--context-tokens", "256", "--model", "mini-codellama", "--port", "x"): "",
    }
    results = await asyncio.gather(*(codeserve("serve", *args) for args in cases))
    *refused, usage = results
    for result, message in zip(refused, cases.values(), strict=False):
        last = result.err.splitlines()[-1]
        assert (result.status, result.out) == (1, "")
        assert last.startswith("codeserve: ")
        assert message in last
        assert "importing vLLM" not in result.err
    assert usage.status == 2


class Served:
    """A running `codeserve serve` with the bundled model."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, log: str) -> None:
        self.process = process
        self.url = url
        self.log = log


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """The real server in a process of its own, started once for these tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CODESERVE_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "codeserve", "serve", "--port", "0"),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    log = ""
    try:
        async with asyncio.timeout(300):
            while not (match := re.search(r"^ready after .* at (ws://\S+)\nnext, .*\n", log, re.MULTILINE)):
                line = (await process.stderr.readline()).decode()
                assert line, f"it ended: {log}"
                log += line
        reader = asyncio.create_task(process.stderr.read())
        yield Served(process, match[1], log)
        reader.cancel()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


@pytest.mark.engine
async def test_start_shows_stages_and_the_next_step(served: Served) -> None:
    """While it loads, each stage is told; when ready, the address and what to do."""
    assert "importing vLLM" in served.log
    assert "loading weights" in served.log
    assert re.search(
        r"^next, from another terminal: .*codeserve complete FILE --line L --column C",
        served.log,
        re.MULTILINE,
    )


@pytest.mark.engine
async def test_complete_end_to_end(served: Served, tmp_path: Path) -> None:
    """A real completion of a Python file, twice: the second finds its prompt in the cache."""
    file = tmp_path / "read.py"
    file.write_text(SOURCE + "\n")
    args = (
        "complete",
        str(file),
        "--line",
        str(SOURCE.count("\n") + 1),
        "--url",
        served.url,
        "--mode",
        "line",
        "--json",
    )
    first = json.loads((await codeserve(*args)).out)
    second = json.loads((await codeserve(*args)).out)
    assert first["model"] == "mini-codellama"
    assert first["text"].strip(), first
    assert "\n" not in first["text"]
    assert second["text"] == first["text"]
    assert first["tokens"]["prompt"] == second["tokens"]["prompt"] > 200
    assert second["tokens"]["cached"] > 0.8 * second["tokens"]["prompt"]
    assert first["timings"]["total_ms"] <= first["client"]["total_ms"]


@pytest.mark.engine
async def test_check_sees_the_running_server(served: Served) -> None:
    """`check` finds it on its port, and by its address."""
    port = served.url.rpartition(":")[2]
    here = json.loads((await codeserve("check", "--json", CODESERVE_PORT=port)).out)
    assert (
        here[-1]["message"] == f"a codeserve runs at {served.url} (ready): another one needs another --port"
    )
    there = json.loads((await codeserve("check", "--json", "--url", served.url)).out)
    assert there[-1]["message"] == f"{served.url} serves mini-codellama"


@pytest.mark.engine
async def test_second_server_on_the_port_is_refused(served: Served) -> None:
    """A taken port is one line, and the first server goes on."""
    result = await codeserve("serve", "--port", served.url.rpartition(":")[2])
    assert result.status == 1
    assert "is taken, perhaps by another codeserve" in result.err.splitlines()[-1]
    assert served.process.returncode is None


@pytest.mark.engine
async def test_load_report_of_the_real_server(served: Served, tmp_path: Path) -> None:
    """`bench load` reports latencies, the cached share, wasted tokens, memory and versions."""
    output = tmp_path / "load.json"
    result = await codeserve(
        *("bench", "load", "--url", served.url, "--seconds", "20", "--requests", "12"),
        *("--pause", "0", "--context-tokens", "600", "--output", str(output), "--deadline-ms", "2000"),
    )
    assert result.status == 0
    assert "cached share while typing" in result.out
    report = json.loads(output.read_text())
    figures = report["figures"]
    assert figures["requests"] == 12
    assert figures["warm"]["cached_share"] > 0.8
    assert figures["warm"]["client_total_ms"]["p50"] > 0
    assert report["server_counters"]["codeserve_prompt_tokens_total"] > 600
    assert report["server_peak_rss_bytes"] > 500 << 20
    assert report["machine"]["memory_bytes"] > 0


@pytest.mark.engine
async def test_prewarm_supersede_and_cancel_of_the_real_server(served: Served) -> None:
    """The client's requests end as it says, against the real engine."""
    async with Client(served.url) as client:
        await client.wait_ready()
        prefix = "def parse(text):\n" + "    text = text.strip()\n" * 80
        warm = await client.prewarm(document="a.py", prefix=prefix).result()
        assert warm.finish is Finish.PREWARMED
        old = client.complete(document="a.py", prefix=prefix + "    re", mode="block", deadline_ms=5000)
        await asyncio.sleep(0)  # it is on its way
        new = client.complete(document="a.py", prefix=prefix + "    return", mode="line", deadline_ms=5000)
        cancelled = client.complete(document="b.py", prefix="x = ", mode="block", deadline_ms=5000)
        cancelled.cancel()
        done = await new.result()
        assert (await old.result()).finish is Finish.SUPERSEDED
        assert (await cancelled.result()).finish is Finish.CANCELLED
        assert done.finish in (Finish.STOP, Finish.LENGTH, Finish.NO_SUGGESTION)
        assert done.tokens.cached > 0.8 * done.tokens.prompt


@pytest.mark.engine
async def test_stop_leaves_no_process(served: Served) -> None:
    """SIGTERM ends it with status 0, and nothing that it started stays."""
    family = psutil.Process(served.process.pid).children(recursive=True)
    served.process.terminate()
    async with asyncio.timeout(60):
        assert await served.process.wait() == 0
    assert not [process for process in family if process.is_running() and process.status() != "zombie"]
