"""What `codeserve check` finds out beside the engine: versions, access, the port, a running server."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import orjson

from codeserve.bench.machine import versions
from codeserve.bench.scrape import get
from codeserve.client import Client, ConfigError, ConnectFailed
from codeserve.commands.extras import require_server
from codeserve.engine.finding import Check
from codeserve.settings import ServerSettings

__all__ = ["check_access", "check_port", "check_server", "check_server_packages", "check_versions"]


def check_versions() -> Check:
    """What is installed."""
    return Check("versions", "ok", ", ".join(f"{name} {version}" for name, version in versions().items()))


def check_server_packages() -> Check:
    """Whether what the server needs beside an engine is installed."""
    try:
        require_server()
    except ConfigError as exc:
        return Check("server", "fail", str(exc))
    return Check("server", "ok", "its packages are installed")


def check_access(settings: ServerSettings) -> Check:
    """Whether there is a token where one is needed, and its file is its owner's alone."""
    try:
        require_server()
        from codeserve.server.auth import Authenticator

        warning = Authenticator.load(settings).warning  # as the server will
    except ConfigError as exc:
        return Check("access", "fail", str(exc))
    path = settings.token_file
    if path is None:
        return Check(
            "access", "ok", "by CODESERVE_TOKEN" if settings.token else "this machine only, no token"
        )
    if warning:
        return Check("access", "warn", warning)
    return Check("access", "ok", f"by the tokens in {path}")


async def check_port(host: str, port: int) -> Check:
    """Whether ``codeserve serve`` could listen there, or does already."""
    url = f"ws://{f'[{host}]' if ':' in host else host}:{port}"
    if (await get(url, "/healthz")).status == 200:
        state = await _readiness(url)
        return Check("port", "warn", f"a codeserve runs at {url} ({state}): another one needs another --port")
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in infos:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE:
            message = f"another program listens on {host}:{port}: choose another port with --port"
        else:
            message = f"nothing can listen on {host}:{port} ({exc.strerror}): check --host and --port"
        return Check("port", "fail", message)
    return Check("port", "ok", f"{host}:{port} is free")


async def _readiness(url: str) -> str:
    ready = await get(url, "/readyz")
    if ready.status == 200:
        return "ready"
    try:
        body = orjson.loads(ready.text)
        return f"not ready: {body['state']} {body['reason'] or body['stage']}".rstrip()
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "not ready"


async def check_server(url: str, token: str | None, ca_file: Path | None) -> Check:
    """Whether a server answers at ``url`` and takes the token. Raises: ConfigError for no URL at all."""
    async with Client(url, token=token, ca_file=ca_file, name="codeserve-check") as client:
        try:
            welcome = await client.wait_ready()
        except ConnectFailed as exc:
            return Check("server", "fail", str(exc))
        return Check("server", "ok", f"{client.url} serves {welcome.model}")
