"""``codeserve admin``: what an operator may do to a running server, with a token of the admin scope."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from codeserve.client import DEFAULT_URL
from codeserve.commands.options import CaFile, TokenFile, Url, read_token

__all__ = ["admin"]

_PATIENCE_S = 120.0  # beside a profile's own length; waking up copies gigabytes


class _Action(StrEnum):
    STATUS = "status"
    SLEEP = "sleep"
    WAKE = "wake"
    RESET_CACHE = "reset-cache"
    PROFILE = "profile"


def admin(
    action: Annotated[_Action, typer.Argument(help="What to do.", show_default=False)],
    url: Url = DEFAULT_URL,
    seconds: Annotated[float, typer.Option(min=0, max=60, help="Length of a profile.")] = 3.0,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Say how a server is; let its GPU memory go (sleep) and take it again (wake), empty its prefix cache, or
    profile it.

    Requests are refused while it sleeps. The token needs the admin scope: "NAME TOKEN admin" in its file.
    """
    typer.echo(asyncio.run(_ask(url, action.value, seconds, read_token(token_file), ca_file)))


async def _ask(url: str, action: str, seconds: float, token: str | None, ca_file: Path | None) -> str:
    from websockets.exceptions import ConnectionClosed

    from codeserve.connection import Endpoint
    from codeserve.errors import CodeserveError
    from codeserve.protocol import Admin, Error, ProtocolError, Report, Status
    from codeserve.wire import decode_server, encode

    endpoint = Endpoint(url, token=token, ca_file=ca_file, name="codeserve-admin")
    connection, _ = await endpoint.open()
    try:
        async with asyncio.timeout(_PATIENCE_S + seconds):
            await connection.send(encode(Admin(action, "1", seconds)))
            while True:
                try:
                    answer = decode_server(await connection.recv())
                except ProtocolError:
                    continue  # of a newer server
                if isinstance(answer, Error) and answer.id == "1":
                    raise CodeserveError(f"{action}: {answer.message}")
                if isinstance(answer, Report) and answer.id == "1":
                    return answer.message
                if isinstance(answer, Status) and action == _Action.STATUS:
                    return f"{answer.state}, load {answer.load:.0%}"
    except ConnectionClosed:
        raise CodeserveError(f"{action}: the server at {endpoint.shown} has gone") from None
    except TimeoutError:
        raise CodeserveError(f"{action}: no answer from {endpoint.shown}, its log says more") from None
    finally:
        await connection.close()
