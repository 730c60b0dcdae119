"""Plain HTTP on the WebSocket's port: health, readiness, metrics.

``/healthz`` and ``/readyz`` are for everyone. ``/metrics`` needs ``Authorization: Bearer TOKEN`` where tokens
are configured, but not from this machine itself, unless a proxy passed the request on.
"""

from __future__ import annotations

from http import HTTPStatus

import orjson
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from codeserve.server.context import Context
from codeserve.settings import is_loopback

__all__ = ["answer"]

_ABOUT = "codeserve: code completion over WebSocket. GET /healthz, /readyz and /metrics are plain HTTP.\n"
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def answer(context: Context, socket: ServerConnection, request: Request, connections: int) -> Response | None:
    """The response to a request, or None when it is a WebSocket handshake to go on with."""
    if request.method != "GET":
        return _respond(HTTPStatus.METHOD_NOT_ALLOWED, "only GET\n", Allow="GET")
    path = request.path.partition("?")[0]
    if path == "/":
        if "websocket" not in ", ".join(request.headers.get_all("Upgrade")).lower():
            return _respond(HTTPStatus.OK, _ABOUT)
        if connections >= context.settings.max_connections:
            text = "no more connections are taken: raise max_connections\n"
            return _respond(HTTPStatus.SERVICE_UNAVAILABLE, text, **{"Retry-After": "5"})
        return None
    if path == "/healthz":
        return _respond(HTTPStatus.OK, "ok\n")
    if path == "/readyz":
        return _ready(context)
    if path == "/metrics":
        if not _may_read_metrics(context, socket, request):
            return _respond(HTTPStatus.UNAUTHORIZED, "a token is needed\n", **{"WWW-Authenticate": "Bearer"})
        return _respond(HTTPStatus.OK, context.metrics.text(), _PROMETHEUS)
    return _respond(HTTPStatus.NOT_FOUND, "there is /, /healthz, /readyz and /metrics\n")


def _ready(context: Context) -> Response:
    state = context.state
    body = {"state": state, "stage": context.stage, "reason": context.engine.failure or ""}
    status = HTTPStatus.OK if state == "ready" else HTTPStatus.SERVICE_UNAVAILABLE
    if status is HTTPStatus.OK:
        body = {"state": state}
    return _respond(status, orjson.dumps(body), "application/json")


def _may_read_metrics(context: Context, socket: ServerConnection, request: Request) -> bool:
    if context.authenticator.check_header(", ".join(request.headers.get_all("Authorization"))):
        return True
    proxied = "X-Forwarded-For" in request.headers or "Forwarded" in request.headers
    return not proxied and is_loopback(socket.remote_address[0])


def _respond(
    status: HTTPStatus, body: str | bytes, kind: str = "text/plain; charset=utf-8", **headers: str
) -> Response:
    content = body.encode() if isinstance(body, str) else body
    fields = Headers(headers)
    fields["Content-Type"] = kind
    fields["Content-Length"] = str(len(content))
    fields["Connection"] = "close"
    return Response(status, status.phrase, fields, content)
