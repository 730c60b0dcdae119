"""How a benchmark's report is waited for, completed and shown."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Coroutine, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from codeserve.errors import CodeserveError

__all__ = ["patiently", "save", "tell"]


async def patiently(run: Coroutine[Any, Any, dict[str, Any]], what: str) -> dict[str, Any]:
    """Await ``run`` with a spinner on standard error, if that is a terminal."""
    from rich.console import Console

    with Console(stderr=True).status(what):
        return await run


def save(report: dict[str, Any], output: Path | None) -> None:
    """Write a report that is still growing to its file, if one is named, whole or not at all.

    Raises: CodeserveError when it cannot be written.
    """
    if output is not None:
        part = output.with_name(f"{output.name}.part")
        _write(_encoded(_completed(report)), part)
        part.replace(output)


def _completed(report: dict[str, Any]) -> dict[str, Any]:
    from codeserve.bench.machine import machine, versions

    date = datetime.now(UTC).isoformat(timespec="seconds")
    report = {"date": date, "machine": machine(), "versions": versions()} | report
    return report | {"command": shlex.join(["codeserve", *sys.argv[1:]])}


def _encoded(report: dict[str, Any]) -> bytes:
    import orjson

    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _write(data: bytes, output: Path) -> None:
    try:
        output.write_bytes(data)
    except OSError as exc:
        raise CodeserveError(f"{output} cannot be written: {exc.strerror}") from None


def tell(
    report: dict[str, Any],
    output: Path | None,
    *,
    json: bool = True,
    tables: Callable[[dict[str, Any]], Iterable[Any]] | None = None,
) -> None:
    """Print a report as JSON or as ``tables``, and write the JSON to a file if one is named.

    ``tables`` makes those of a report; without it they are the load benchmark's.
    Adds the machine, the versions, the date and the command, where they are not in it yet.
    Raises: CodeserveError when it cannot be written.
    """
    report = _completed(report)
    data = _encoded(report)
    if output is not None:
        _write(data, output)
    if json:
        typer.echo(data.decode(), nl=False)
        return
    from rich.console import Console

    from codeserve.bench.report import tables as load_tables

    console = Console()
    for table in (tables or load_tables)(report):
        console.print(table)
