"""Keeps what the model is measured on out of its training data, by content.

Texts are compared by their lines, blank ones and indentation aside: a run of three lines that a test problem
has too, and that is no commonplace, is taken for a copy of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

__all__ = ["Hashes", "Reserved", "line_hashes", "runs"]

_RUN = 3  # lines
_RUN_CHARS = 50  # fewer say nothing: `else:`, `return None`, `)`
_HELD_OUT_SHARE = 0.2  # of a file's runs; licence headers and boilerplate are shared innocently

Hashes = npt.NDArray[np.uint64]


def line_hashes(text: str) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """Of each line that is not blank, without indentation: a 64-bit hash and its length in characters."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    joined = b"".join(
        blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).digest() for line in lines
    )
    return np.frombuffer(joined, dtype="<u8"), np.fromiter(map(len, lines), np.int64, len(lines))


def runs(hashes: Hashes, lengths: npt.NDArray[np.int64]) -> Hashes:
    """One hash for each run of three consecutive lines that is long enough to tell texts apart."""
    if len(hashes) < _RUN:
        return hashes[:0]
    mixed = hashes[:-2] * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ hashes[1:-1]) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ hashes[2:]) * np.uint64(0x94D049BB133111EB)
    return mixed[lengths[:-2] + lengths[1:-1] + lengths[2:] >= _RUN_CHARS]


class Reserved:
    """The content that must not be trained on."""

    def __init__(self, tests: Iterable[str], held_out: Iterable[str]) -> None:
        """``tests``: texts of which no run may occur. ``held_out``: files, of which no near copy may."""
        self._tests = _union(tests)
        self._held_out = _union(held_out)

    def __len__(self) -> int:
        return len(self._tests) + len(self._held_out)

    def forbids(self, file_runs: Hashes) -> bool:
        """Whether a file, given by its `runs`, has test content in it or is a copy of a held-out file."""
        if _hits(file_runs, self._tests):
            return True
        return _hits(file_runs, self._held_out) > _HELD_OUT_SHARE * max(len(file_runs), 1)


def _union(texts: Iterable[str]) -> Hashes:
    parts: Sequence[Hashes] = [runs(*line_hashes(text)) for text in texts]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype="<u8")


def _hits(file_runs: Hashes, reserved: Hashes) -> int:
    if not len(reserved) or not len(file_runs):
        return 0
    places = np.minimum(np.searchsorted(reserved, file_runs), len(reserved) - 1)
    return int((reserved[places] == file_runs).sum())
