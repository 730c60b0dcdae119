"""``codeserve bench load``: typing developers over real files against a running server."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import attrs

from codeserve.bench.corpus import Corpus, find_files
from codeserve.bench.machine import MemoryWatch, find_server, machine, versions
from codeserve.bench.scrape import changes, get, parse_metrics, total
from codeserve.bench.stats import summarise
from codeserve.bench.typist import Habits, Quota, Typist
from codeserve.client import Client, ConfigError, is_loopback

__all__ = ["LoadPlan", "run_load"]


@attrs.frozen
class LoadPlan:
    """What to run: how many developers, for how long, and how they work."""

    habits: Habits = attrs.field(factory=Habits)
    devs: int = 1
    seconds: float = 60.0  # that are counted
    ramp_s: float = 0.0  # before them, in which the developers begin one after the other
    requests: int = 100_000  # of all developers; ends the run early
    files: Sequence[str] = ()  # glob patterns
    seed: int = 0
    budget_ms: float = 300.0
    allow_remote: bool = False


def _check_target(url: str, plan: LoadPlan) -> None:
    host = urlsplit(url).hostname or ""
    if not is_loopback(host) and not plan.allow_remote:
        raise ConfigError(
            f"{host} is another machine, and a load test takes its time from its users: "
            "add --allow-remote if that is what you mean"
        )


def _watch(url: str, stack: contextlib.AsyncExitStack) -> MemoryWatch | None:
    """Watch the server's memory until the stack ends, if it is on this machine and can be seen."""
    parts = urlsplit(url)
    pid = find_server(parts.port or 80) if is_loopback(parts.hostname or "") else None
    if pid is None:
        return None
    memory = MemoryWatch(pid)
    stack.callback(asyncio.create_task(memory.run()).cancel)
    return memory


async def run_load(
    url: str,
    plan: LoadPlan,
    *,
    token: str | None = None,
    ca_file: Path | None = None,
    memory: MemoryWatch | None = None,
) -> dict[str, object]:
    """Run the load and return the report, ready for JSON.

    ``memory`` is one that runs already; without it, a server on this machine is looked for and watched.
    Raises: ConfigError for a target or files that cannot be used, ConnectFailed without a server.
    """
    _check_target(url, plan)
    corpus = Corpus(find_files(plan.files))
    async with contextlib.AsyncExitStack() as stack:
        if memory is None:
            memory = _watch(url, stack)
        clients = [
            await stack.enter_async_context(Client(url, token=token, ca_file=ca_file, name="codeserve-bench"))
            for _ in range(plan.devs)
        ]
        model = [(await client.wait_ready()).model for client in clients].pop()
        typists = [
            Typist(client, corpus, plan.habits, name=str(number), seed=f"{plan.seed}-{number}")
            for number, client in enumerate(clients)
        ]
        before = await get(url, "/metrics", token=token, ca_file=ca_file)
        started, start = datetime.now(UTC), time.monotonic()
        all_in = start + plan.ramp_s
        quota = Quota(plan.requests, all_in + plan.seconds, all_in)
        async with asyncio.TaskGroup() as group:
            for typist in typists:
                group.create_task(typist.work(quota))
        elapsed = time.monotonic() - all_in
        # what is still generated for requests that ended here is counted as well
        await asyncio.sleep(0.2)
        after = await get(url, "/metrics", token=token, ca_file=ca_file)
    counters = (
        changes(parse_metrics(before.text), parse_metrics(after.text))
        if before.status == after.status == 200
        else None
    )
    samples = [sample for typist in typists for sample in typist.samples]
    return {
        "benchmark": "load",
        "date": started.isoformat(timespec="seconds"),
        "url": clients[0].url,
        "model": model,
        "plan": attrs.asdict(plan),
        "seconds": elapsed,
        "requests_per_second": len(samples) / elapsed,
        "figures": summarise(samples, plan.budget_ms),
        # over all of the server's clients, and the ramp too; None where its metrics cannot be had
        "tokens_wasted": None if counters is None else total(counters, "codeserve_tokens_wasted_total"),
        "server_counters": counters,
        "server_peak_rss_bytes": memory.peak_bytes if memory is not None else None,
        "machine": machine(),
        "versions": versions(),
    }
