"""What commands that talk to a server have in common: its address, the token, the CA file, the mode."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from codeserve.errors import ConfigError

__all__ = ["CaFile", "CompletionMode", "TokenFile", "Url", "read_token"]


class CompletionMode(StrEnum):
    """`codeserve.protocol.Mode` as choices of a flag."""

    LINE = "line"
    BLOCK = "block"
    AUTO = "auto"


Url = Annotated[str, typer.Option("--url", envvar="CODESERVE_URL", help="The server's address.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="File with the token; without one, CODESERVE_TOKEN is used.",
        show_default=False,
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option("--ca-file", help="PEM file with the CA of a wss:// server.", show_default=False),
]


def read_token(token_file: Path | None) -> str | None:
    """The token from the file, else from ``CODESERVE_TOKEN``, else None.

    Never from a flag, which any user of the machine can see in ``ps``.
    Raises: ConfigError when the file cannot be read, holds none, or an admin's without a name.
    """
    if token_file is None:
        return os.environ.get("CODESERVE_TOKEN", "").strip() or None
    try:
        lines = token_file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise ConfigError(f"the token file {token_file} cannot be read: {reason}") from None
    for line in lines:
        words = line.split()
        if words and not words[0].startswith("#"):
            # the server's own file does as well: TOKEN, NAME TOKEN or NAME TOKEN admin
            if words[1:] == ["admin"]:
                raise ConfigError(
                    f"the token file {token_file} has an admin line without a name: write NAME TOKEN admin"
                )
            return words[0] if len(words) == 1 else words[1]
    raise ConfigError(f"the token file {token_file} holds no token: write it into the first line")
