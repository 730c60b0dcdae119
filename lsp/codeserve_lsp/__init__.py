"""The codeserve language server: inline completion within a fixed time in any editor that speaks LSP."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("codeserve")
except PackageNotFoundError:  # run from a checkout that is not installed
    __version__ = "0+unknown"
