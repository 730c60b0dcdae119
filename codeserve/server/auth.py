"""Who may connect: bearer tokens from a file or the environment.

A line of the token file, or the variable ``CODESERVE_TOKEN``, is ``TOKEN``, ``NAME TOKEN`` or
``NAME TOKEN admin``. The name shows in the logs; ``admin`` allows admin messages. Empty lines and lines that
begin with ``#`` are skipped.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import attrs

from codeserve.errors import ConfigError
from codeserve.settings import ServerSettings, is_loopback

__all__ = ["Access", "Authenticator"]


@attrs.frozen
class Access:
    """What a client may do."""

    name: str  # of its token, for the log
    admin: bool = False


@attrs.frozen
class _Token:
    digest: bytes = attrs.field(repr=False)
    access: Access


class Authenticator:
    """Checks tokens. Without any configured, everyone who can connect may complete, nobody may administer."""

    def __init__(self, tokens: Iterable[_Token] = (), warning: str = "") -> None:
        self._tokens = tuple(tokens)
        self.warning = warning  # what the operator should put right, "" for nothing

    @classmethod
    def load(cls, settings: ServerSettings) -> Authenticator:
        """Read the tokens of the settings. Raises: ConfigError, also when one is needed and there is none."""
        lines: list[tuple[str, str]] = []
        if settings.token_file is not None:
            lines += _read(settings.token_file)
        if settings.token is not None:
            lines.append(("CODESERVE_TOKEN", settings.token))
        tokens = [_parse(line, source) for source, line in lines]
        if len({token.digest for token in tokens}) < len(tokens):
            raise ConfigError("the same token is configured twice: give each client its own")
        if not tokens and not is_loopback(settings.host):
            raise ConfigError(
                f"host {settings.host} can be reached from other machines, which needs a token: "
                "(umask 077; openssl rand -hex 32 > codeserve.token), then --token-file codeserve.token"
            )
        return cls(tokens, _exposed(settings.token_file) if settings.token_file else "")

    def check(self, token: str | None) -> Access | None:
        """What ``token`` allows, or None when it is wrong. Takes the same time whichever it is."""
        if not self._tokens:
            return Access("anonymous")
        digest = _digest(token or "")
        found = None
        for known in self._tokens:
            if hmac.compare_digest(digest, known.digest):
                found = known.access
        return found

    def check_header(self, authorization: str | None) -> Access | None:
        """The same for the value of an HTTP ``Authorization: Bearer …`` header."""
        scheme, _, token = (authorization or "").partition(" ")
        return self.check(token.strip() if scheme.lower() == "bearer" else None)


def _digest(token: str) -> bytes:
    # Hashed, so that comparing does not tell the length either.
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def _read(path: Path) -> list[tuple[str, str]]:
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise ConfigError(
            f"no token file at {path}: make one with (umask 077; openssl rand -hex 32 > {path})"
        ) from None
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"token file {path} cannot be read: {type(exc).__name__}") from None
    lines = [
        (f"{path} line {number}", line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise ConfigError(f"token file {path} holds no token: write one a line")
    return lines


def _exposed(path: Path) -> str:
    open_to_others = path.stat().st_mode & 0o077
    return f"others can read the token file: chmod 600 {path}" if open_to_others else ""


def _parse(line: str, source: str) -> _Token:
    match line.split():
        case [token]:
            access = Access("token")
        case [_, "admin"]:
            # Else the word would be a token, and the token a name in the logs.
            raise ConfigError(f"{source}: an admin line needs a name: NAME TOKEN admin")
        case [name, token]:
            access = Access(name)
        case [name, token, "admin"]:
            access = Access(name, admin=True)
        case _:
            raise ConfigError(f"{source}: expected TOKEN, NAME TOKEN or NAME TOKEN admin")
    return _Token(_digest(token), access)
