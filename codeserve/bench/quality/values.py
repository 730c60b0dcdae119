"""Python values as JSON that can be read without trusting who wrote it.

Plain values only: what a test compares. Anything else becomes `OPAQUE`, which equals nothing, so that an
object that claims to be equal to everything stays on its own side.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

__all__ = ["OPAQUE", "dumps", "loads"]


class _Opaque:
    """A value that cannot travel."""

    def __eq__(self, other: object) -> bool:
        return False


OPAQUE = _Opaque()

# Longer ones cannot be an answer to a test, and reading their digits takes long.
_MOST_BITS = 1 << 20


def _pack(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return ["plain", value]
    if isinstance(value, int):
        return ["int", hex(value)] if value.bit_length() <= _MOST_BITS else ["opaque"]
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, complex):
        return ["complex", value.real.hex(), value.imag.hex()]
    if isinstance(value, str):
        return ["plain", value]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, dict):
        return ["dict", [[_pack(key), _pack(item)] for key, item in value.items()]]
    name = next((name for name, kind in _KINDS.items() if isinstance(value, kind)), None)
    return ["opaque"] if name is None else [name, [_pack(item) for item in value]]


_KINDS: dict[str, type[Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def _unpack(packed: Any) -> Any:
    kind, *rest = packed
    if kind in _KINDS:
        return _KINDS[kind]([_unpack(item) for item in rest[0]])
    return _READERS[kind](*rest)


_READERS: dict[str, Callable[..., Any]] = {
    "plain": lambda value: value,
    "int": lambda digits: int(digits, 16),
    "float": float.fromhex,
    "complex": lambda real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "bytes": bytes.fromhex,
    "dict": lambda items: {_unpack(key): _unpack(item) for key, item in items},
    "opaque": lambda: OPAQUE,
}


def dumps(value: Any) -> str:
    """``value`` as one line of JSON. Raises: RecursionError for a value that contains itself."""
    return json.dumps(_pack(value))


def loads(line: str | bytes) -> Any:
    """The value of a line of `dumps`. Raises: ValueError for anything else."""
    try:
        return _unpack(json.loads(line))
    except (KeyError, TypeError, IndexError, RecursionError, UnicodeDecodeError) as exc:
        raise ValueError(f"not a packed value: {type(exc).__name__}") from None
