"""The commands of the command line, one file each."""

from __future__ import annotations

__all__: list[str] = []
