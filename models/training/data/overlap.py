"""Keeps what the model is measured on out of its training data, by content.

Texts are compared by their lines, blank ones and indentation aside: a run of three lines that a test problem
has too, and that is no commonplace, is taken for a copy of it. Of held-out files a fifth must be there,
of theirs or of the file in question. Training text is scrubbed before it is compared, so these are too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from training.data.secrets import scrub

__all__ = ["Hashes", "Reserved", "line_hashes", "runs"]

_RUN = 3  # lines
_RUN_CHARS = 50  # fewer say nothing: `else:`, `return None`, `)`
_HELD_OUT_SHARE = 0.2  # of a file's runs; licence headers and boilerplate are shared innocently
_COMMON_FILES = (
    3  # held-out files with the same run: it is a header or boilerplate, and tells of none of them
)
_LEAST_HITS = 10  # runs of one held-out file; a short one has few, and its header may be among them

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
        self._tests = np.unique(_joined(list(map(_scrubbed_runs, tests))))
        by_file = [np.unique(_scrubbed_runs(text)) for text in held_out]
        hashes = _joined(by_file)
        files = np.repeat(np.arange(len(by_file)), np.fromiter(map(len, by_file), np.int64, len(by_file)))
        self._held_out, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        # Runs that tell of one or two files: by hash, so that a search gives the files of each.
        telling = counts[inverse] < _COMMON_FILES
        order = np.argsort(hashes[telling], kind="stable")
        self._telling = hashes[telling][order]
        self._files = files[telling][order]
        self._sizes = np.bincount(self._files, minlength=len(by_file))

    def __len__(self) -> int:
        return len(self._tests) + len(self._held_out)

    def forbids(self, file_runs: Hashes) -> bool:
        """Whether a file, given by its `runs`, has test content in it or is a copy of a held-out file."""
        if _hits(file_runs, self._tests):
            return True
        hits = _hits(file_runs, self._held_out)
        if hits > _HELD_OUT_SHARE * len(file_runs):
            return True
        return hits >= _LEAST_HITS and self._holds_a_held_out_file(np.unique(file_runs))

    def _holds_a_held_out_file(self, file_runs: Hashes) -> bool:
        """Whether much of one held-out file is in a file that may be a good deal longer."""
        first = np.searchsorted(self._telling, file_runs, "left")
        last = np.searchsorted(self._telling, file_runs, "right")
        places = [first[last - first > more] + more for more in range(_COMMON_FILES - 1)]
        hits = np.bincount(self._files[np.concatenate(places)], minlength=len(self._sizes))
        return bool(((hits >= _LEAST_HITS) & (hits > _HELD_OUT_SHARE * self._sizes)).any())


def _scrubbed_runs(text: str) -> Hashes:
    return runs(*line_hashes(scrub(text)[0]))


def _joined(parts: Sequence[Hashes]) -> Hashes:
    return np.concatenate(parts) if parts else np.empty(0, dtype="<u8")


def _hits(file_runs: Hashes, reserved: Hashes) -> int:
    if not len(reserved) or not len(file_runs):
        return 0
    places = np.minimum(np.searchsorted(reserved, file_runs), len(reserved) - 1)
    return int((reserved[places] == file_runs).sum())
