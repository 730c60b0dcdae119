"""Where the token comes from, and which servers are told it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codeserve_lsp.settings import Settings
from codeserve_lsp.tokens import Tokens, origin, read_token

ENVIRON = {"CODESERVE_TOKEN": "t"}
FAR = Settings(server_url="wss://far.example:9/x")


def test_token_from_file_or_variable(tmp_path: Path) -> None:
    """The file goes before the variable; one that is missing, empty or no text is an error in one line."""
    environ = {"CODESERVE_TOKEN": " a ", "OTHER": "b"}
    assert read_token(Settings(), environ) == "a"
    assert read_token(Settings(token_variable="OTHER"), environ) == "b"
    assert read_token(Settings(), {}) is None
    file = tmp_path / "token"
    for content in (b"", b"\xff"):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="token file"):
            read_token(Settings(token_file=str(file)), environ)
    file.write_text("c\n")
    assert read_token(Settings(token_file=str(file)), environ) == "c"
    with pytest.raises(ValueError, match="cannot be read"):
        read_token(Settings(token_file=str(tmp_path / "none")), environ)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "~nobody-at-all/x", "/"])
def test_a_token_file_that_is_no_path(name: str) -> None:
    """What Python says of a path that cannot be is not shown; the line has no control character."""
    with pytest.raises(
        ValueError, match=r"^the token file .* cannot be read: give a file of 4096 bytes at most$"
    ) as failed:
        read_token(Settings(token_file=name), {})
    assert str(failed.value).isprintable()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb\n-----END OPENSSH PRIVATE KEY-----\n",
            "more than a token",
        ),
        ("a\nb\n", "more than a token"),
        ("HOME=/x\0KEY=y\0", "more than a token"),
        ("machine x login y password z\n", "more than a token"),
        ("a" * 4_097, "cannot be read"),
        ("# the team's\n\n", "is empty"),
    ],
)
def test_a_file_that_holds_something_else(tmp_path: Path, content: str, problem: str) -> None:
    """A key or another file that was named is not sent; the line that says so holds nothing of it."""
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(ValueError, match=f"^the token file .* {problem}.*: [a-z ]+") as failed:
        read_token(Settings(token_file=str(file)), {})
    assert str(failed.value).isprintable()
    file.write_text("# the team's\n\nt0ken\n")
    assert read_token(Settings(token_file=str(file)), {}) == "t0ken"


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe without a writer and a device without an end are told like a file that is not there."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("pipe", "link"):
        with pytest.raises(ValueError, match="cannot be read"):
            read_token(Settings(token_file=str(tmp_path / name)), {})


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("WSS://Far.example", ("wss", "far.example", 443)),
        ("ws://u:p@[::1]:8760/x?y", ("ws", "::1", 8760)),
        ("http://x", None),
        ("ws://[::1", None),
        ("ws://x:99999", None),
        ("", None),
    ],
)
def test_origin(url: str, place: tuple[str, str, int] | None) -> None:
    """A server is its scheme, host and port, however its address is written."""
    assert origin(url) == place


@pytest.mark.parametrize("url", ["ws://127.0.0.1:1", "ws://localhost:1", "wss://[::1]:1"])
def test_this_machine_is_told(url: str) -> None:
    """A server here is the user's own."""
    assert Tokens(ENVIRON).of(Settings(server_url=url)) == ("t", "")


def test_a_server_that_the_user_named_is_told() -> None:
    """The one of the start and the one of the variable are; no other scheme, host or port of theirs is."""
    tokens = Tokens(ENVIRON | {"CODESERVE_URL": "wss://FAR.example:9/other"})
    assert tokens.of(FAR) == ("t", "")
    for url in (
        "ws://far.example:9",
        "wss://far.example",
        "wss://evil.example:9",
        "wss://far.example:9@evil/",
    ):
        token, kept = tokens.of(Settings(server_url=url))
        assert token is None
        assert "CODESERVE_TOKEN" in kept
        assert kept.isprintable()
    tokens = Tokens(ENVIRON)
    assert tokens.of(FAR)[0] is None
    tokens.name(FAR.server_url)
    assert tokens.of(FAR) == ("t", "")


def test_no_file_is_read_for_another_server(tmp_path: Path) -> None:
    """Settings that name a server and a file do not get the file out; without any token nothing is kept."""
    file = tmp_path / "private"
    file.write_text("key")
    settings = Settings(server_url=FAR.server_url, token_file=str(file))
    token, kept = Tokens({}).of(settings)
    assert token is None
    assert "tokenFile" in kept
    assert Tokens({}).of(FAR) == (None, "")


def test_a_token_by_request_goes_where_the_request_says() -> None:
    """To its own server; when it names none, to the user's own; otherwise the settings' own counts."""
    tokens = Tokens(ENVIRON)
    tokens.give("r", FAR.server_url)
    assert tokens.of(FAR) == ("r", "")
    assert tokens.of(Settings()) == ("t", "")
    tokens.give("r", None)
    assert tokens.of(Settings()) == ("r", "")
    token, kept = tokens.of(Settings(server_url="wss://other"))
    assert token is None
    assert "codeserve/token" in kept
    assert tokens.of(FAR)[0] is None
    tokens.name(FAR.server_url)
    assert tokens.of(FAR) == ("r", "")
    tokens = Tokens(ENVIRON)
    tokens.give("r", None)
    tokens.give(None, None)
    assert tokens.of(FAR)[0] is None
