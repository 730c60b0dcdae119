"""``codeserve bench lsp``: what the language server adds, and whether it keeps its promise with a bad server.

Starts the language server as an editor does and a server in this process, so it needs neither a model nor an
editor. Overhead is what the editor waits beyond the time in which the server had the request.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import attrs
import psutil

from codeserve.bench.fickle import FickleServer
from codeserve.bench.rpc import Child, Reply
from codeserve.bench.stats import percentile

__all__ = ["LspPlan", "run_lsp"]

# Beyond the budget: pipes, a busy machine, and this program's own reading.
SLACK_MS = 20
# An answer that has not come after this never comes.
LOST_S = 5.0
DOCUMENTS = 16
# Files of 2,000 lines each that a document imports.
MODULES = 16


@attrs.frozen
class LspPlan:
    """How much to do."""

    keystrokes: int = 500  # for each length of file
    lines: tuple[int, ...] = (2_000, 20_000)
    requests: int = 10_000  # against the bad server
    trouble: float = 0.5  # the share of requests that it does not simply answer
    loss: float = 0.0005  # the share that costs the connection
    budget_ms: int = 300
    seed: int = 0


async def run_lsp(plan: LspPlan) -> dict[str, Any]:
    """Run everything; the result is ready for JSON. ``passed`` says whether every figure is kept."""
    overhead = {str(lines): await _overhead(plan, lines) for lines in plan.lines}
    context = await _context(plan)
    promise = await _promise(plan)
    limits = {str(lines): 5.0 if lines <= 2_000 else 20.0 for lines in (*plan.lines, context["lines"])}
    starts = [run["start_ms"] for run in overhead.values()]
    passed = (
        all(run["p95_ms"] <= limits[lines] for lines, run in overhead.items())
        and context["p95_ms"] <= limits[str(context["lines"])]
        and not any(promise[what] for what in ("late", "unanswered", "errors", "extra_answers", "toasts"))
        and max(starts) <= 1000
    )
    return {
        "overhead": overhead,
        "with_context": context,
        "promise": promise,
        "start_ms": max(starts),
        "passed": passed,
    }


def _settings(url: str, plan: LspPlan) -> dict[str, Any]:
    # what is measured is the way of a request: each keystroke makes one
    triggers = {"lineEnd": True, "insideWord": True, "deletion": True}
    return {"serverUrl": url, "budgetMs": plan.budget_ms, "prewarm": False, "triggers": triggers}


def _percentile(values: list[float], percent: float) -> float:
    return round(percentile(values, percent) or 0.0, 2)


async def _start(child: Child, url: str, plan: LspPlan, started: float) -> float:
    await child.start(_settings(url, plan))
    took = (time.perf_counter() - started) * 1000
    await child.ready()
    return round(took)


def _source(lines: int) -> str:
    return "".join(f"    value_{i} = compute(value_{i - 1}, scale={i})\n" for i in range(lines))


async def _overhead(plan: LspPlan, lines: int) -> dict[str, Any]:
    """Keystrokes in one file that goes to the server alone."""
    started = time.perf_counter()
    async with FickleServer() as server, Child() as child:
        start_ms = await _start(child, server.url, plan, started)
        child.open("untitled:bench.py", _source(lines))
        over = await _keystrokes(child, server, "untitled:bench.py", lines, plan)
    return {**over, "start_ms": start_ms}


async def _context(plan: LspPlan) -> dict[str, Any]:
    """Keystrokes from the moment on at which a file is opened that imports many long ones, never seen before.

    They are read and parsed while the keys come in; ``first_ms`` is the most that one of the first 50 took.
    """
    with tempfile.TemporaryDirectory(prefix="codeserve-bench-") as folder:
        for i in range(MODULES):
            functions = (f"def function_{i}_{j}(a: int) -> int:\n    return a\n\n\n" for j in range(500))
            (Path(folder) / f"module_{i}.py").write_text("".join(functions))
        imports = "".join(f"from module_{i} import function_{i}_1\n" for i in range(MODULES))
        uri = (Path(folder) / "main.py").as_uri()
        async with FickleServer() as server, Child() as child:
            await _start(child, server.url, plan, time.perf_counter())
            child.open(uri, imports + _source(plan.lines[0]))
            over = await _keystrokes(child, server, uri, plan.lines[0], plan)
            for version in range(plan.keystrokes + 2, plan.keystrokes + 102):
                if server.snippets:
                    break
                await asyncio.sleep(0.05)  # few keystrokes are over before the first file has been read
                child.type(uri, version, plan.lines[0] - 1, 4, "q")
                await child.complete(uri, plan.lines[0] - 1, 5).wait(LOST_S)
            snippets = server.snippets
    return {**over, "lines": plan.lines[0], "modules": MODULES, "snippets": snippets}


async def _keystrokes(
    child: Child, server: FickleServer, uri: str, lines: int, plan: LspPlan
) -> dict[str, Any]:
    """Keystrokes at random places, each an incremental change and a request that nothing answers but the
    server."""
    choose = random.Random(plan.seed)
    took = []
    for version in range(2, plan.keystrokes + 2):
        line = choose.randrange(lines // 2, lines)
        child.type(uri, version, line, 4, "q")
        reply = child.complete(uri, line, 5)
        await reply.wait(LOST_S)
        took.append(reply.ms)
    over = [total - own for total, own in zip(took, server.times, strict=True)]
    return {
        "keystrokes": len(over),
        "p50_ms": _percentile(over, 50),
        "p95_ms": _percentile(over, 95),
        "p99_ms": _percentile(over, 99),
        "max_ms": round(max(over), 2),
        "first_ms": round(max(over[:50]), 2),
    }


async def _promise(plan: LspPlan) -> dict[str, Any]:
    """Many documents at once against a server that stalls, dies and comes back."""
    started = time.perf_counter()
    replies: list[Reply] = []
    async with FickleServer(trouble=plan.trouble, loss=plan.loss, seed=plan.seed) as server, Child() as child:
        await _start(child, server.url, plan, started)
        process = psutil.Process(child.process.pid)
        before = process.memory_info().rss
        writers = [
            _write(child, f"untitled:{i}.py", random.Random(plan.seed * 1000 + i), plan, replies)
            for i in range(DOCUMENTS)
        ]
        watch = asyncio.create_task(_own_lag())
        await asyncio.gather(*writers)
        await asyncio.gather(*(reply.wait(LOST_S) for reply in replies))
        watch.cancel()
        stats = child.request("codeserve/stats", {})
        await stats.wait(LOST_S)
        grown = process.memory_info().rss - before
        losses = server.losses
    answered = [reply for reply in replies if reply.arrived.is_set()]
    times = [reply.ms for reply in answered]
    return {
        "requests": len(replies),
        "unanswered": len(replies) - len(answered),
        "errors": sum(reply.failed for reply in answered),
        "late": sum(ms > plan.budget_ms + SLACK_MS for ms in times),
        "extra_answers": child.extra_answers,
        "toasts": child.toasts,
        "with_text": sum(bool(reply.result and reply.result["items"]) for reply in answered),
        "p50_ms": _percentile(times, 50),
        "p99_ms": _percentile(times, 99),
        "max_ms": round(max(times), 1),
        "slowest_by_its_own_clock_ms": stats.result["slowestMs"],
        "own_lag_ms": round(await watch, 1),
        "connections_lost": losses,
        "memory_growth_mb": round(grown / 1e6, 1),
        "seconds": round(time.perf_counter() - started, 1),
    }


async def _own_lag() -> float:
    """The most that this program itself was held up, in milliseconds: no answer can be seen sooner."""
    worst = 0.0
    try:
        while True:
            due = time.perf_counter() + 0.005
            await asyncio.sleep(0.005)
            worst = max(worst, time.perf_counter() - due)
    except asyncio.CancelledError:
        return worst * 1000


async def _write(child: Child, uri: str, choose: random.Random, plan: LspPlan, replies: list[Reply]) -> None:
    """One developer: types what was suggested or something else, at times faster than the answers come."""
    child.open(uri, "")
    column, version, ahead = 0, 1, ""
    while len(replies) < plan.requests:
        text = ahead[:1] if ahead and choose.random() < 0.7 else choose.choice("abc(=. ")
        version += 1
        if text == "\n" or column > 200:
            child.open(uri, "")
            column, text = 0, "a"
        child.type(uri, version, 0, column, text)
        column += len(text)
        reply = child.complete(uri, 0, column)
        replies.append(reply)
        if choose.random() < 0.2:
            await asyncio.sleep(choose.uniform(0.0, 0.1))  # the next key comes first
            ahead = ""
        else:
            await reply.wait(LOST_S)
            items = reply.result["items"] if reply.result else []
            ahead = items[0]["insertText"] if items else ""
