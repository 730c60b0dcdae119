"""``codeserve-lsp``: the language server on standard input and output."""

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import attrs

from codeserve_lsp import __version__
from codeserve_lsp.repeats import Repeats

__all__ = ["main"]

SWITCH_S = 0.0005


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="codeserve-lsp",
        description="Language server for inline code completion, to be started by an editor.",
        epilog="Settings come from the editor; the server's address is the setting serverUrl.",
    )
    parser.add_argument("--version", action="version", version=f"codeserve-lsp {__version__}")
    parser.add_argument("--stdio", action="store_true", help="what it does anyway; many editors say it")
    parser.add_argument("--log-file", type=Path, help="write the log there and not to standard error")
    levels = ("debug", "info", "warning", "error")
    parser.add_argument("--log-level", choices=levels, default="warning", help="default: warning")
    return parser.parse_args(argv)


def _log_to(file: Path | None, level: str) -> None:
    try:
        handler = logging.FileHandler(file, encoding="utf-8") if file else logging.StreamHandler(sys.stderr)
    except OSError as exc:
        raise SystemExit(f"codeserve-lsp: the log file {file} cannot be written ({exc.strerror})") from None
    handler.addFilter(Repeats())
    logging.basicConfig(
        level=level.upper(), handlers=[handler], format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # pygls logs message bodies at INFO, and at ERROR the parameters of what failed: source code, all of it
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    # websockets logs frames at DEBUG
    logging.getLogger("websockets").setLevel(logging.WARNING)


def _load_types() -> None:
    """Load the protocol's types without the methods that compare and print them.

    Nobody calls those, and making them for all of the classes takes half of the time. What cannot print its
    fields cannot put source code into a log either.
    """
    define = attrs.define
    try:
        attrs.define = functools.partial(define, eq=False, repr=False)
        import_module("lsprotocol.types")
    finally:
        attrs.define = define


def main(argv: Sequence[str] | None = None) -> None:
    """Run until the editor says exit or goes away."""
    options = _arguments(argv)
    _log_to(options.log_file, options.log_level)
    # Loading makes hundreds of thousands of objects that live for good. Collecting while they are made takes
    # a tenth of the start; going over all of them later would hold up a keystroke for tens of milliseconds.
    gc.disable()
    # how long a thread that reads other files may keep the event loop waiting for Python's lock
    sys.setswitchinterval(SWITCH_S)
    # the types of the whole protocol take most of the start to load: --help and --version do without
    _load_types()
    from codeserve_lsp.server import make_server

    server = make_server()
    gc.freeze()
    gc.enable()
    asyncio.run(server.run())


if __name__ == "__main__":
    main()
