"""What goes wrong with files and settings is one line and status 1, not a traceback."""

from zipfile import BadZipFile

import pytest
from safetensors import SafetensorError

from codeserve.errors import ConfigError
from training import cli


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (PermissionError(13, "Permission denied", "a/b"), "a/b: Permission denied"),
        (OSError("no space"), "no space"),
        (ConfigError("no such model"), "no such model"),
        (SafetensorError("header too small"), "header too small"),
        (EOFError(), "EOFError"),
        (BadZipFile("not a zip file"), "not a zip file"),
        (ValueError("two\n lines"), "two lines"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_one_line(
    fault: Exception, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line has the path where the fault knows it."""

    def fail(*args: object) -> None:
        raise fault

    monkeypatch.setattr("training.data.build.build", fail)
    assert cli.main(["data"]) == 1
    assert capsys.readouterr().err == f"error: {line}\n"
