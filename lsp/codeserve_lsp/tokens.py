"""The server's token: where it comes from, and which servers may be told it.

The settings that name a server may come with a project: an editor does not say which ones are the user's own.
A token in a variable or a file is the user's, and nothing in it says whose server it is for; nor does one by
request (``codeserve/token``) without an address. Such a token goes to a server on this machine, to the one
that was named when the editor started this program (``serverUrl`` in ``initializationOptions``), and to the
one that the variable ``CODESERVE_URL`` names; another one that the settings come to name later is not told
it, and no file is read for it. A token by request with an address goes there and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from codeserve.client import is_loopback, read_regular
from codeserve_lsp.clean import shown
from codeserve_lsp.settings import Settings

__all__ = ["Tokens", "origin", "read_token"]

# The variable that names the user's server, also for `codeserve complete` and its like.
URL_VARIABLE = "CODESERVE_URL"

# A line with a token, and some about it.
MAX_TOKEN_BYTES = 4_096

_PORTS = {"ws": 80, "wss": 443}


def origin(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of a server's address, None for what is none."""
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        return None
    if scheme not in _PORTS or not host:
        return None
    return scheme, host.lower(), port or _PORTS[scheme]


def read_token(settings: Settings, environ: Mapping[str, str] = os.environ) -> str | None:
    """The token that the settings point to, None without one.

    Raises: ValueError in one line when the file that is named cannot be read, or does not hold one token.
    """
    if not settings.token_file:
        return environ.get(settings.token_variable, "").strip() or None
    path = Path(os.path.expanduser(settings.token_file))  # which leaves an unknown user's ~ as it is
    name = shown(str(path))
    try:
        lines = read_regular(path, MAX_TOKEN_BYTES).decode().splitlines()
    except (OSError, ValueError):
        raise ValueError(
            f"the token file {name} cannot be read: give a file of {MAX_TOKEN_BYTES} bytes at most"
        ) from None
    tokens = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not tokens:
        raise ValueError(f"the token file {name} is empty: put the token into it")
    # a key file, or any other that was named instead
    if len(tokens) > 1 or len(tokens[0].split()) > 1 or not tokens[0].isprintable():
        raise ValueError(f"the token file {name} holds more than a token: leave one line in it, the token")
    return tokens[0]


class Tokens:
    """What the editor handed over, and the servers that the user has named."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._given: str | None = None  # by request; goes before the settings' own
        self._given_for: str | None = None  # the one URL that it is for, None for the user's own servers
        self._named = {origin(environ.get(URL_VARIABLE, ""))}

    def name(self, url: str) -> None:
        """The server of the settings that the editor started this program with."""
        self._named.add(origin(url))

    def give(self, token: str | None, url: str | None) -> None:
        """Take the token that the editor keeps; with a ``url`` that server is told it and no other.

        Without one the user's own servers are. None goes back to the settings' own.
        """
        self._given, self._given_for = token or None, url

    def of(self, settings: Settings) -> tuple[str | None, str]:
        """The token for the settings' server, None without one; and why one is held back, in one line.

        Raises: ValueError as `read_token` does.
        """
        url = settings.server_url
        if self._given is not None and self._given_for == url:
            return self._given, ""
        for_any = self._given is not None and self._given_for is None
        place = origin(url)
        if place is not None and (place in self._named or is_loopback(place[1])):
            return self._given if for_any else read_token(settings, self._environ), ""
        if for_any:
            held = "that of codeserve/token, which names no server,"
        elif settings.token_file:
            held = "that of tokenFile"
        elif settings.token_variable in self._environ:
            held = f"that of {settings.token_variable}"
        else:
            return None, ""
        return None, (
            f"the server asks for a token, and {held} is kept from it: name the server in "
            f"initializationOptions, or in the variable {URL_VARIABLE} of the editor"
        )
