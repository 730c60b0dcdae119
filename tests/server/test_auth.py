from __future__ import annotations

from pathlib import Path

import pytest

from codeserve.errors import ConfigError
from codeserve.server.auth import Access, Authenticator
from codeserve.settings import ServerSettings


def load(path: Path, text: str, mode: int = 0o600) -> Authenticator:
    path.write_text(text)
    path.chmod(mode)
    return Authenticator.load(ServerSettings(token_file=path))


def test_lines(tmp_path: Path) -> None:
    """Each line of a token file is a token, with a name and a scope if it has them."""
    text = "# team\n\nplain\nalice first\nops second admin\n"
    authenticator = load(tmp_path / "tokens", text)
    assert authenticator.check(None) is None
    assert authenticator.check("plain") == Access("token")
    assert authenticator.check("first") == Access("alice")
    assert authenticator.check("second") == Access("ops", admin=True)
    for wrong in (None, "", "alice", "alice first", "# team", "fir", "firstt", "é", "\ud800"):
        assert authenticator.check(wrong) is None


def test_header(tmp_path: Path) -> None:
    """The same token counts in an Authorization header, with the Bearer scheme only."""
    authenticator = load(tmp_path / "tokens", "secret\n")
    assert authenticator.check_header("Bearer secret")
    assert authenticator.check_header("bearer  secret ")
    for wrong in (None, "", "secret", "Basic secret", "Bearer", "Bearer x"):
        assert authenticator.check_header(wrong) is None


def test_no_tokens() -> None:
    """Without any token everyone on this machine may complete, and nobody administer."""
    authenticator = Authenticator.load(ServerSettings())
    assert authenticator.check(None) is not None
    assert authenticator.check(None) == Access("anonymous")
    assert authenticator.check("any") == Access("anonymous")


def test_variable_and_file(tmp_path: Path) -> None:
    """The variable's token counts beside those of the file."""
    file = tmp_path / "tokens"
    file.write_text("one\n")
    file.chmod(0o600)
    authenticator = Authenticator.load(ServerSettings(token_file=file, token="ops two admin"))
    assert authenticator.check("one")
    assert authenticator.check("two") == Access("ops", admin=True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_off_loopback(host: str) -> None:
    """A host that others can reach needs a token; the error says how to make one."""
    with pytest.raises(ConfigError, match="openssl rand") as caught:
        Authenticator.load(ServerSettings(host=host))
    assert "\n" not in str(caught.value)
    assert Authenticator.load(ServerSettings(host=host, token="x")).check(None) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no token"),
        ("# only a comment\n\n", "holds no token"),
        ("a b c\n", "line 1: expected TOKEN"),
        ("planted admin\n", "line 1: an admin line needs a name: NAME TOKEN admin"),
        ("one\na planted admin extra\n", "line 2: expected TOKEN"),
        ("a same\nb same\n", "configured twice"),
    ],
)
def test_bad_file(tmp_path: Path, text: str, told: str) -> None:
    """A token file that cannot be meant is refused, without showing what is in it."""
    file = tmp_path / "tokens"
    with pytest.raises(ConfigError, match=told) as caught:
        load(file, text)
    assert "planted" not in str(caught.value).replace(str(file), "")


def test_no_file(tmp_path: Path) -> None:
    """A token file that is not there is told with how to make it; one that is no text as well."""
    with pytest.raises(ConfigError, match="umask 077"):
        Authenticator.load(ServerSettings(token_file=tmp_path / "none"))
    (tmp_path / "binary").write_bytes(b"\xff\xff")
    with pytest.raises(ConfigError, match="cannot be read"):
        Authenticator.load(ServerSettings(token_file=tmp_path / "binary"))
    with pytest.raises(ConfigError, match="cannot be read"):
        Authenticator.load(ServerSettings(token_file=tmp_path))


def test_readable_by_others(tmp_path: Path) -> None:
    """A warning says so when others can read the file, and not otherwise; the token is not in it."""
    assert load(tmp_path / "tokens", "planted\n", 0o600).warning == ""
    warning = load(tmp_path / "tokens", "planted\n", 0o640).warning
    assert "chmod 600" in warning
    assert "planted" not in warning
