"""The load report as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

__all__ = ["tables"]

_ROWS = {
    "client_ttft_ms": "first text, at the client (ms)",
    "client_total_ms": "total, at the client (ms)",
    "server_queue_ms": "queue, at the server (ms)",
    "server_ttft_ms": "first token, at the server (ms)",
    "server_total_ms": "total, at the server (ms)",
    "prompt_tokens": "prompt (tokens)",
}


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """The figures by warm and cold requests, then the run as a whole."""
    figures = report["figures"]
    latency = Table(title=f"{report['model']}: warm is typing in a place, cold the first request there")
    latency.add_column("")
    for name in ("n", "p50", "p95", "p99", "max"):
        latency.add_column(name, justify="right")
    for temperature in ("warm", "cold"):
        part = figures[temperature]
        for key, label in _ROWS.items():
            spread = part[key]
            cells = (_number(spread[name]) for name in ("p50", "p95", "p99", "max"))
            latency.add_row(f"{temperature}: {label}", str(spread["count"]), *cells)
        latency.add_section()
    yield latency

    run = Table(title="the run", show_header=False)
    run.add_column("", no_wrap=True)
    run.add_column("", overflow="fold")
    for label, text in _facts(report):
        run.add_row(label, text)
    yield run


def _facts(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    figures = report["figures"]
    plan = report["plan"]
    budget = f"{figures['budget_ms']:g} ms"
    yield "developers", f"{plan['devs']}, {report['seconds']:.0f} s, pause {plan['habits']['pause_s']:g} s"
    yield "requests", f"{figures['requests']} ({report['requests_per_second']:.2f} a second)"
    yield "outcomes", ", ".join(f"{name} {count}" for name, count in figures["outcomes"].items())
    yield f"within {budget}", _percent(figures["all"]["within_budget"])
    yield f"within {budget}, warm", _percent(figures["warm"]["within_budget"])
    yield "cached share while typing", _percent(figures["warm"]["cached_share"])
    yield "output tokens", f"{figures['all']['output_tokens']:,}"
    yield "accepted", str(figures["accepted"])
    wasted = report["tokens_wasted"]
    yield "tokens wasted", "–, the server's metrics cannot be had" if wasted is None else f"{wasted:,.0f}"
    for name, value in (report["server_counters"] or {}).items():
        if "wasted" in name or "after_end" in name:
            yield name.removeprefix("codeserve_"), f"{value:,.0f}"
    if "spawn_to_ready_s" in report:
        yield "start to ready", f"{report['spawn_to_ready_s']:.1f} s"
    if report["server_peak_rss_bytes"]:
        yield "server memory, peak", f"{report['server_peak_rss_bytes'] / 2**30:.2f} GiB"
    machine = report["machine"]
    yield "machine", f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB"
    yield "versions", ", ".join(f"{name} {version}" for name, version in report["versions"].items())
