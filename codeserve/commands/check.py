"""``codeserve check``: a doctor that says what is missing, and what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codeserve.commands.options import CaFile, TokenFile, read_token
from codeserve.errors import ConfigError

if TYPE_CHECKING:
    from codeserve.engine.finding import Check
    from codeserve.settings import ServerSettings

__all__ = ["check"]

_MARKS = {"ok": "[green]ok[/]", "warn": "[yellow]warn[/]", "fail": "[bold red]fail[/]"}


def check(
    model: Annotated[
        str | None, typer.Option(help="Preset or model folder to check for.", show_default="the settings'")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings file (TOML).", show_default="codeserve.toml, if there")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Check for a server at this address, not for serving here.", show_default=False),
    ] = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Check whether this machine can serve, or with --url whether a server answers.

    Exit status 1 if anything fails; every failure says what to do.
    """
    found = list(_remote(url, token_file, ca_file) if url else _here(config, model))
    failed = any(result.status == "fail" for result in found)
    if json:
        import attrs
        import orjson

        rows = [attrs.asdict(result) for result in found]
        typer.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    else:
        _print(found, failed, here=url is None)
    raise typer.Exit(int(failed))


def _remote(url: str, token_file: Path | None, ca_file: Path | None) -> Iterator[Check]:
    from codeserve.commands.probe import check_server, check_versions

    yield check_versions()
    yield asyncio.run(check_server(url, read_token(token_file), ca_file))


def _here(config: Path | None, model: str | None) -> Iterator[Check]:
    from codeserve.commands.probe import check_access, check_port, check_server_packages, check_versions
    from codeserve.engine.finding import Check
    from codeserve.settings import find_config, load_settings, mistyped_variables

    yield check_versions()
    try:
        settings = load_settings(config, {"model": model})
        file = find_config(config)
    except ConfigError as exc:
        yield Check("settings", "fail", str(exc))
        return
    source = str(file) if file else "no settings file"
    yield Check("settings", "ok", f"{source}; CODESERVE_* variables and flags win over it")
    for line in mistyped_variables():
        yield Check("settings", "warn", line)
    yield check_server_packages()
    yield check_access(settings)
    yield from _model(settings)
    yield asyncio.run(check_port(settings.host, settings.port))


def _model(settings: ServerSettings) -> Iterator[Check]:
    from codeserve.commands.model import choose_model
    from codeserve.engine.finding import Check
    from codeserve.engine.preflight import checks

    try:
        preset, model = choose_model(settings)
    except ConfigError as exc:
        yield Check("model", "fail", str(exc))
        return
    yield from checks(preset, model)


def _print(found: list[Check], failed: bool, *, here: bool) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("check", "", "what was found", box=None, pad_edge=False)
    for result in found:
        table.add_row(escape(result.name), _MARKS[result.status], escape(result.message))
    console = Console(highlight=False)
    console.print(table)
    if failed:
        console.print("\nPut right what failed, then check again.")
    elif here and any((result.name, result.status) == ("port", "warn") for result in found):
        console.print(
            "\nAll is well, and a server runs already: "
            "codeserve complete FILE --line L --column C --url ADDRESS",
            soft_wrap=True,
        )
    elif here:
        console.print("\nAll is well: codeserve serve")
