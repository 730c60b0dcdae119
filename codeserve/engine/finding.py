"""A finding about this machine: what `codeserve check` lists, and what keeps an engine from starting."""

from __future__ import annotations

from typing import Literal

import attrs

__all__ = ["Check"]


@attrs.frozen
class Check:
    """One finding; the message of a ``warn`` or ``fail`` says what to do."""

    name: str
    status: Literal["ok", "warn", "fail"]
    message: str
