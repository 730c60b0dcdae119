"""``python -m codeserve``."""

from __future__ import annotations

from codeserve.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
