"""What commands that talk to a server have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeserve.commands.options import read_token
from codeserve.errors import ConfigError


@pytest.mark.parametrize("line", ["planted", "me planted", "me planted admin"])
def test_lines_of_a_servers_token_file(tmp_path: Path, line: str) -> None:
    """The token is found in every kind of line that the server's own file has."""
    file = tmp_path / "token"
    file.write_text(f"# ours\n\n{line}\nsecond\n")
    assert read_token(file) == "planted"


def test_admin_line_without_a_name(tmp_path: Path) -> None:
    """It is refused, as the server does, rather than that the word is sent; the token is not shown."""
    file = tmp_path / "token"
    file.write_text("planted admin\n")
    with pytest.raises(ConfigError, match="admin line without a name: write NAME TOKEN admin") as caught:
        read_token(file)
    assert "planted" not in str(caught.value).replace(str(file), "")
