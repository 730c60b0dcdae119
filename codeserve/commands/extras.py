"""What the server needs beside what every installation of codeserve has."""

from __future__ import annotations

import importlib.util

from codeserve.errors import ConfigError

__all__ = ["require_server"]

_MODULES = ("prometheus_client", "structlog", "tokenizers")


def require_server() -> None:
    """Raises: ConfigError when what the ``serve`` extra brings is not installed."""
    missing = [name for name in _MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"the server needs {', '.join(missing)}: run `make run` in a checkout, "
            "or pip install -e '.[gpu]' there on a machine with a GPU"
        )
