"""Near-duplicates by MinHash and locality-sensitive hashing (Broder 1997; Indyk and Motwani 1998).

A file is the set of its pairs of consecutive lines. The share of equal minima under random permutations of
the hashes estimates the Jaccard similarity of two such sets; files that agree in all minima of some band are
compared.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Deduplicator", "Signature", "signature"]

_BANDS = 14
_ROWS = 5  # in a band: pairs of similarity 0.7 meet with probability 0.92, of 0.4 with 0.13
PERMUTATIONS = _BANDS * _ROWS
_SIMILAR = 0.7

_generator = np.random.default_rng(20260101)
_MULTIPLIERS = _generator.integers(1, 2**63, PERMUTATIONS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_OFFSETS = _generator.integers(0, 2**63, PERMUTATIONS, dtype=np.uint64)

Signature = npt.NDArray[np.uint32]


def signature(hashes: npt.NDArray[np.uint64]) -> Signature:
    """The minima of a file, shape (70,), from the `line_hashes` of its lines."""
    pairs = hashes if len(hashes) < 2 else hashes[:-1] * np.uint64(0x9E3779B97F4A7C15) ^ hashes[1:]
    pairs = np.unique(pairs)[:20_000]
    minima = np.empty(PERMUTATIONS, np.uint32)
    for i in range(PERMUTATIONS):
        minima[i] = ((pairs * _MULTIPLIERS[i] + _OFFSETS[i]) >> np.uint64(32)).min() if len(pairs) else 0
    return minima


class Deduplicator:
    """Remembers files by their signatures."""

    def __init__(self) -> None:
        self._signatures: list[Signature] = []
        self._buckets: dict[bytes, list[int]] = {}

    def is_new(self, minima: Signature) -> bool:
        """Whether no file like this one was seen before; if so it is remembered."""
        keys = [bytes([band]) + minima[band * _ROWS : (band + 1) * _ROWS].tobytes() for band in range(_BANDS)]
        candidates = {index for key in keys for index in self._buckets.get(key, ())}
        if any((self._signatures[index] == minima).mean() >= _SIMILAR for index in candidates):
            return False
        for key in keys:
            self._buckets.setdefault(key, []).append(len(self._signatures))
        self._signatures.append(minima)
        return True
