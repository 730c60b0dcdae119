"""One WebSocket to a server: address, TLS, proxy, hello and welcome, and the waits between attempts."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import random
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidProxy,
    InvalidProxyStatus,
    InvalidStatus,
    InvalidURI,
    ProxyError,
)
from websockets.frames import CLOSE_CODE_EXPLANATIONS, CloseCode
from websockets.uri import parse_uri

from codeserve import __version__
from codeserve.errors import CodeserveError, ConfigError
from codeserve.protocol import (
    MAX_FRAME_BYTES,
    PROTOCOL_VERSION,
    Error,
    ErrorCode,
    Hello,
    ProtocolError,
    Welcome,
)
from codeserve.receive import Receiver
from codeserve.regular import read_regular
from codeserve.wire import decode_server, encode

__all__ = ["Backoff", "ConnectFailed", "Endpoint", "ended", "is_loopback"]

# A server behind a slow link or a busy event loop still answers well within this.
OPEN_TIMEOUT_S = 10.0
# What the system holds of what a server sends ahead (Linux takes this twice): it is read in one go.
RECEIVE_BUFFER = 32_768
# Long enough for a closing handshake on a good line; a dead peer must not hold up an editor's exit.
CLOSE_TIMEOUT_S = 1.0
# All certificate authorities of a system together have a quarter of a megabyte.
MAX_CA_BYTES = 4_000_000


_random = random.SystemRandom()


class ConnectFailed(CodeserveError):
    """No connection. ``unauthorized``: the server refused the token, so that trying again is of no use."""

    def __init__(self, message: str, *, unauthorized: bool = False) -> None:
        super().__init__(message)
        self.unauthorized = unauthorized


class Backoff:
    """Seconds to wait before each attempt in a row: none at first, then ``base`` doubling to ``cap``.

    Jitter (half to the whole of it) keeps a team's editors from returning to a restarted server all at once.
    """

    def __init__(
        self,
        base: float = 0.25,
        cap: float = 30.0,
        *,
        jitter: Callable[[], float] = _random.random,
    ) -> None:
        self._base = base
        self._cap = cap
        self._jitter = jitter
        self._attempts = 0

    def reset(self) -> None:
        """Start over: the next wait is none again."""
        self._attempts = 0

    def next(self) -> float:
        attempts, self._attempts = self._attempts, self._attempts + 1
        if attempts == 0:
            return 0.0
        # the exponent is bounded: a client that is offline for days must not overflow a float
        whole = min(self._cap, self._base * 2.0 ** min(attempts - 1, 30))
        return whole * (0.5 + self._jitter() / 2)


def is_loopback(host: str) -> bool:
    """Whether ``host`` names this machine: ``localhost`` or a loopback address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Connect(connect):
    """Follows no redirect: the hello with its token goes to the server that was named, or nowhere."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


class Endpoint:
    """Where a server is and how to get in. Raises: ConfigError when it cannot be an address or a CA file."""

    def __init__(
        self, url: str, *, token: str | None = None, ca_file: Path | None = None, name: str = ""
    ) -> None:
        try:
            uri = parse_uri(url)
        except (InvalidURI, ValueError):
            shown = url.rpartition("@")[2]  # without a password, which is in front of it
            raise ConfigError(f"{shown!r} is no WebSocket URL: give one like ws://127.0.0.1:8760") from None
        parts = urlsplit(url)
        # a user and password in the URL stay out of messages and logs
        self.shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        self.host = uri.host
        self.loopback = is_loopback(uri.host)
        self._url = url
        self._token = token
        self._name = name or f"codeserve/{__version__}"
        self._tls = tls_context(ca_file) if uri.secure else None

    async def open(self) -> tuple[Receiver, Welcome]:
        """Connect and say hello. Raises: ConnectFailed, with the reason in one line."""
        try:
            opened = await _Connect(
                self._url,
                create_connection=Receiver,
                ssl=self._tls,
                # A proxy for the internet cannot reach this machine's own ports.
                proxy=None if self.loopback else True,
                compression=None,  # the server takes none
                open_timeout=OPEN_TIMEOUT_S,
                close_timeout=CLOSE_TIMEOUT_S,
                max_size=MAX_FRAME_BYTES,
            )
        except (OSError, InvalidHandshake, InvalidProxy, ValueError, ImportError) as exc:
            raise self._explain(exc) from exc
        connection = cast(Receiver, opened)
        try:
            _hold_less(connection)
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                return connection, await self._greet(connection)
        except TimeoutError:
            connection.transport.abort()
            raise ConnectFailed(
                f"{self.shown} does not answer: it took the connection, then said nothing"
            ) from None
        except ConnectionClosed:
            raise ConnectFailed(f"{self.shown} closed the connection at once ({ended(connection)})") from None
        except BaseException:
            connection.transport.abort()
            raise

    async def _greet(self, connection: ClientConnection) -> Welcome:
        await connection.send(encode(Hello(version=PROTOCOL_VERSION, token=self._token, client=self._name)))
        while True:
            try:
                message = decode_server(await connection.recv())
            except ProtocolError as exc:
                if exc.code is ErrorCode.UNKNOWN_TYPE:  # a newer server may say more before its welcome
                    continue
                raise ConnectFailed(
                    f"{self.shown} is no codeserve server, or one too new for this client ({exc})"
                ) from None
            if isinstance(message, Welcome):
                if message.version != PROTOCOL_VERSION:
                    raise self._other_version(message.version)
                return message
            if isinstance(message, Error):
                raise self._refused(message)

    def _other_version(self, version: int) -> ConnectFailed:
        which = "this client" if version > PROTOCOL_VERSION else "the server"
        return ConnectFailed(
            f"{self.shown} speaks version {version} of the protocol and this client version "
            f"{PROTOCOL_VERSION}: update {which}"
        )

    def _refused(self, error: Error) -> ConnectFailed:
        if error.code in (ErrorCode.UNAUTHORIZED, ErrorCode.FORBIDDEN):
            what = "refuses this token" if self._token else "asks for a token"
            return ConnectFailed(
                f"{self.shown} {what}: give the server's token by --token-file FILE or CODESERVE_TOKEN, "
                "in an editor by its settings",
                unauthorized=True,
            )
        # not in the server's own words, which may repeat the hello with its token
        return ConnectFailed(f"{self.shown} refuses the connection ({error.code})")

    def _explain(self, exc: Exception) -> ConnectFailed:
        if isinstance(exc, InvalidStatus):
            status = exc.response.status_code
            if status in (401, 403):
                return ConnectFailed(f"{self.shown} refuses access (HTTP {status})", unauthorized=True)
            if status in (502, 503, 504):
                return ConnectFailed(f"{self.shown} takes no connection now (HTTP {status}): try again later")
            return ConnectFailed(f"{self.shown} is no codeserve server (HTTP {status}): check the URL")
        if isinstance(exc, ssl.SSLCertVerificationError):
            return ConnectFailed(
                f"the certificate of {self.shown} is not trusted ({exc.verify_message}): name its CA file"
            )
        if isinstance(exc, ssl.SSLError):
            return ConnectFailed(f"no TLS with {self.shown} ({exc.reason}): is it ws:// rather than wss://?")
        if isinstance(exc, TimeoutError):
            return ConnectFailed(f"{self.shown} did not answer within {OPEN_TIMEOUT_S:.0f} s")
        if isinstance(exc, socket.gaierror):
            return ConnectFailed(f"the host of {self.shown} is not known: check the URL")
        if isinstance(exc, OSError):
            do = (
                "start one with `codeserve serve`"
                if self.loopback
                else "is it running, and is the address right?"
            )
            return ConnectFailed(f"no server at {self.shown}: {do}")
        if isinstance(exc, InvalidProxy | ProxyError):  # whose words have the proxy's password
            return ConnectFailed(
                f"no way to {self.shown} through the proxy ({_kind(exc)}): check https_proxy"
            )
        if isinstance(exc, ImportError):
            return ConnectFailed(f"no way to {self.shown} through a SOCKS proxy: install python-socks")
        return ConnectFailed(
            f"{self.shown} is no codeserve server ({_kind(exc)}): check the URL, and the proxy's"
        )


def _hold_less(connection: ClientConnection) -> None:
    """Have the system hold little of what the server sends ahead."""
    held = connection.transport.get_extra_info("socket")
    if held is not None:
        with contextlib.suppress(OSError):
            held.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """How servers are checked: by the system's CAs, or by those of a file. Raises: ConfigError."""
    if ca_file is None:
        return ssl.create_default_context()
    try:
        # what is around the certificates may be in any language
        certificates = read_regular(ca_file, MAX_CA_BYTES).decode("ascii", "ignore")
        # without any, the system's would count
        return ssl.create_default_context(cadata=certificates or " ")
    except ssl.SSLError:
        raise ConfigError(f"the CA file {ca_file} cannot be used: it holds no certificate") from None
    except OSError as exc:
        raise ConfigError(f"the CA file {ca_file} cannot be used: {exc.strerror or exc}") from None
    except ValueError:  # a NUL or a surrogate
        raise ConfigError(f"the CA file {str(ca_file)!r} cannot be used: that is no path") from None


def ended(connection: Receiver) -> str:
    """Why a connection is no more. The server's own words stay out: what it was sent may be in them."""
    if connection.flooded:
        return "it sends more messages than a client can read"
    code = connection.close_code or CloseCode.ABNORMAL_CLOSURE
    return f"close code {code}, {CLOSE_CODE_EXPLANATIONS.get(code, 'its own')}"


def _kind(exc: Exception) -> str:
    """What an error is, without what it says: a URL with a password may be in that."""
    if isinstance(exc, InvalidProxyStatus):
        return f"HTTP {exc.response.status_code}"
    return type(exc).__name__
