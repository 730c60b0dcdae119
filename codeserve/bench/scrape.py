"""What a server says over plain HTTP on its port: readiness, and its counters in Prometheus' text format."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

__all__ = ["Response", "changes", "get", "parse_metrics", "total"]

_TIMEOUT_S = 5.0
_MAX_BYTES = 4 << 20
_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?)\s+(\S+)(?:\s+-?\d+)?$")


class Response:
    """The status and text of an answer; status 0 when there was none."""

    def __init__(self, status: int = 0, text: str = "") -> None:
        self.status = status
        self.text = text


async def get(url: str, path: str) -> Response:
    """GET ``path`` from the host and port of a ws:// URL. Never raises: what is no answer has status 0."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 80
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
                writer.write(request.encode())
                await writer.drain()
                data = b""
                while len(data) < _MAX_BYTES and (chunk := await reader.read(65_536)):
                    data += chunk
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return Response()
    head, _, body = data.partition(b"\r\n\r\n")
    match = re.match(rb"HTTP/1\.[01] (\d{3})", head)
    return Response(int(match[1]) if match else 0, body.decode("utf-8", "replace"))


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
