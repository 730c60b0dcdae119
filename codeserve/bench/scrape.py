"""What a server says over plain HTTP on its port: readiness, and its counters in Prometheus' text format."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import BaseHandler, HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from codeserve.connection import is_loopback, tls_context

__all__ = ["Response", "changes", "get", "parse_metrics", "total"]

_TIMEOUT_S = 5.0
_MAX_BYTES = 4 << 20
_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?)\s+(\S+)(?:\s+-?\d+)?$")


class Response:
    """The status and text of an answer; status 0 when there was none."""

    def __init__(self, status: int = 0, text: str = "") -> None:
        self.status = status
        self.text = text


class _Stay(HTTPRedirectHandler):
    """Follows no redirect: a token goes to the server that was named, or nowhere."""

    def redirect_request(self, *_: object) -> None:
        return None


async def get(url: str, path: str, *, token: str | None = None, ca_file: Path | None = None) -> Response:
    """GET ``path`` from the host and port of a WebSocket URL, without and with TLS, with a bearer token.

    Never raises for what a server does: what is no answer has status 0. Raises: ConfigError for the CA file.
    """
    parts = urlsplit(url)
    secure = parts.scheme == "wss"
    handlers: list[BaseHandler] = [_Stay()]
    if secure:
        handlers.append(HTTPSHandler(context=tls_context(ca_file)))
    if is_loopback(parts.hostname or ""):
        handlers.append(ProxyHandler({}))  # a proxy for the internet cannot reach this machine's own ports
    address = f"{'https' if secure else 'http'}://{parts.netloc.rpartition('@')[2]}{path}"
    request = Request(address, headers={"Authorization": f"Bearer {token}"} if token else {})

    def ask() -> Response:
        try:
            with build_opener(*handlers).open(request, timeout=_TIMEOUT_S) as answer:
                return Response(answer.status, answer.read(_MAX_BYTES).decode("utf-8", "replace"))
        except HTTPError as exc:
            with exc:
                return Response(exc.code, exc.read(_MAX_BYTES).decode("utf-8", "replace"))
        except (OSError, HTTPException, ValueError):
            return Response()

    return await asyncio.to_thread(ask)


def parse_metrics(text: str) -> dict[str, float]:
    """Samples of Prometheus' text format (0.0.4), by name with labels as they stand. Buckets are left out."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        match = _SAMPLE.match(line)
        if match and "_bucket{" not in match[1]:
            try:
                found[match[1]] = float(match[2])
            except ValueError:
                continue
    return found


def changes(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """By how much codeserve's own counters grew, those that did."""
    grown = {
        name: value - before.get(name, 0.0)
        for name, value in after.items()
        if name.startswith("codeserve_") and name.partition("{")[0].endswith(("_total", "_sum", "_count"))
    }
    return {name: value for name, value in sorted(grown.items()) if value}


def total(samples: Mapping[str, float], name: str) -> float:
    """The sum of a metric over all its labels; 0 when there is no sample of it."""
    return sum(value for key, value in samples.items() if key.partition("{")[0] == name)
