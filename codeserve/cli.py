"""The command line: ``codeserve serve | complete | check | models | quantize | bench | admin``.

One file a command in `codeserve.commands`; what is heavy is imported by the command that needs it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from codeserve import __version__
from codeserve.commands import admin, bench, check, complete, models, quantize, serve
from codeserve.errors import CodeserveError

__all__ = ["app", "main"]

app = typer.Typer(
    name="codeserve",
    help="Self-hosted code completion. Begin with `codeserve serve`.",
    no_args_is_help=True,
    # an exception that gets this far is a bug: its plain traceback belongs into a report
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"codeserve {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    pass


app.command()(serve.serve)
app.command()(complete.complete)
app.command()(check.check)
app.command()(models.models)
app.command()(quantize.quantize)
app.command()(admin.admin)
app.add_typer(bench.app, name="bench")


def main() -> None:
    """Run the command line: exit status 1 with one line for what a user can put right, 2 for wrong usage."""
    try:
        app()
    except CodeserveError as exc:
        typer.echo(f"codeserve: {exc}", err=True)
        raise SystemExit(1) from None
