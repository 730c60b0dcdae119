from __future__ import annotations

import os
from pathlib import Path

import pytest

from codeserve.errors import ConfigError
from codeserve.settings import ServerSettings, is_loopback, load_settings, mistyped_variables


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory and configuration directory, and no variables."""
    for name in list(os.environ):
        if name.startswith("CODESERVE_"):
            monkeypatch.delenv(name)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def write(text: str, path: str = "codeserve.toml") -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_defaults() -> None:
    """Without any setting it is the bundled model on loopback."""
    settings = load_settings()
    assert settings == ServerSettings()
    assert (settings.host, settings.port, settings.model) == ("127.0.0.1", 8760, "mini-codellama")


def test_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag wins over a variable, a variable over the file, the file over the default."""
    write("port = 1\nmax_pending = 1\nmax_connections = 1\n")
    monkeypatch.setenv("CODESERVE_PORT", "2")
    monkeypatch.setenv("CODESERVE_MAX_PENDING", "2")
    settings = load_settings(None, {"port": 3, "host": None})
    assert (settings.port, settings.max_pending, settings.max_connections) == (3, 2, 1)
    assert settings.host == "127.0.0.1"


def test_which_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file is that of the flag, else of the variable, else in the working directory, else the user's."""
    write("port = 4", str(tmp_path / "config/codeserve/codeserve.toml"))
    assert load_settings().port == 4
    write("port = 3")
    assert load_settings().port == 3
    monkeypatch.setenv("CODESERVE_CONFIG", str(write("port = 2", "variable.toml")))
    assert load_settings().port == 2
    assert load_settings(write("port = 1", "flag.toml")).port == 1


def test_empty_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable counts as not set."""
    monkeypatch.setenv("CODESERVE_PORT", "")
    monkeypatch.setenv("CODESERVE_TOKEN", "")
    settings = load_settings()
    assert (settings.port, settings.token) == (8760, None)


def test_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are written with commas in a variable, switches as words, and dashes may stand in the file."""
    write('allowed-origins = ["https://a.example"]\ndrain_seconds = 3\nspeculation = "off"')
    settings = load_settings()
    assert settings.allowed_origins == ["https://a.example"]
    assert settings.drain_seconds == 3.0
    assert settings.speculation == "off"
    monkeypatch.setenv("CODESERVE_ALLOWED_ORIGINS", "https://b.example:8443,https://c.example")
    monkeypatch.setenv("CODESERVE_SPECULATION", "on")
    settings = load_settings()
    assert settings.allowed_origins == ["https://b.example:8443", "https://c.example"]
    assert settings.speculation == "on"


def test_paths() -> None:
    """A relative path in the file is relative to the file, one in a flag to the working directory."""
    file = write('token_file = "secret"\nmodels_dir = "/models"', "etc/codeserve.toml")
    settings = load_settings(file)
    assert settings.token_file == Path.cwd() / "etc/secret"
    assert settings.models_dir == Path("/models")
    assert load_settings(file, {"token_file": Path("secret")}).token_file == Path.cwd() / "secret"


def test_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token comes from its variable, and does not show in the representation."""
    monkeypatch.setenv("CODESERVE_TOKEN", "planted")
    settings = load_settings()
    assert settings.token == "planted"
    assert "planted" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("port = 'a'", "port must be a whole number"),
        ("port = true", "port must be a whole number"),
        ("port = 1.5", "port must be a whole number"),
        ("port = 65536", "port must be from 0 to 65535"),
        ("host = 1", "host must be a text"),
        ("host = ' '", "host must not be empty"),
        ("drain_seconds = 'x'", "drain_seconds must be a number"),
        ("drain_seconds = nan", "drain_seconds must be from"),
        ("speculation = 1", "speculation must be one of on, off, auto"),
        ("token_file = 1", "token_file must be a path"),
        ("log_level = 'loud'", "log_level must be one of debug, info, warning, error"),
        ("log_format = 1", "log_format must be one of auto, console, json"),
        ("allowed_origins = 'a'", "allowed_origins must be a list of texts"),
        ("allowed_origins = [1]", "allowed_origins must be a list of texts"),
        ("prot = 1", "unknown key 'prot'; known: host, port"),
        ("[server]\nport = 1", "unknown key 'server'"),
        ("token = 'planted'", "a token does not belong in this file"),
        ("port = ", "Invalid value"),
    ],
)
def test_bad_file(text: str, told: str) -> None:
    """What is wrong in the file is told in one line, with the file and the key."""
    file = write(text)
    with pytest.raises(ConfigError) as caught:
        load_settings()
    place, _, message = str(caught.value).partition(": ")
    assert place == str(file.resolve())
    assert told in message
    assert "\n" not in message
    assert "planted" not in message


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("PORT", "x", "CODESERVE_PORT must be a whole number"),
        ("MAX_PENDING", "0", "CODESERVE_MAX_PENDING must be from 1 to 100000"),
        ("SPECULATION", "perhaps", "CODESERVE_SPECULATION must be one of on, off, auto"),
        ("LOG_LEVEL", "LOUD", "CODESERVE_LOG_LEVEL must be one of debug, info, warning, error"),
        ("CONFIG", "nowhere.toml", "CODESERVE_CONFIG: no file at nowhere.toml"),
    ],
)
def test_bad_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str) -> None:
    """What is wrong in a variable is told in one line, with its name."""
    monkeypatch.setenv(f"CODESERVE_{name}", value)
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert str(caught.value) == told


def test_bad_flag() -> None:
    """What is wrong in a flag is told as the flag is written, and a token is never a flag."""
    with pytest.raises(ConfigError, match=r"^--max-pending must be from"):
        load_settings(None, {"max_pending": 0})
    with pytest.raises(ConfigError, match="never a flag"):
        load_settings(None, {"token": "planted"})
    with pytest.raises(ConfigError, match=r"^--config: no file at nowhere"):
        load_settings(Path("nowhere"))


def test_unreadable_file() -> None:
    """A file that is not text is told in one line."""
    file = Path("codeserve.toml")
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("localhost", True),
        ("LocalHost", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("example.org", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_is_loopback(host: str, loopback: bool) -> None:
    """Only an address or name of this machine itself is loopback."""
    assert is_loopback(host) is loopback


def test_mistyped_variables() -> None:
    """Each variable that looks like a setting and is none gets a line, with the nearest one."""
    environ = {"CODESERVE_MAX_PENDNG": "1", "CODESERVE_URL": "x", "CODESERVE_TOKEN": "x", "PATH": "x"}
    (line,) = mistyped_variables(environ)
    assert line.startswith("CODESERVE_MAX_PENDNG is no setting")
    assert line.endswith("did you mean CODESERVE_MAX_PENDING?")
    (far,) = mistyped_variables({"CODESERVE_QQQQ": "1"})
    assert "docs/settings.md" in far
