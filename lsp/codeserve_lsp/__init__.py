"""The codeserve language server: inline completion within a fixed time in any editor that speaks LSP."""

from __future__ import annotations

import codeserve

__all__ = ["__version__"]

__version__ = codeserve.__version__
