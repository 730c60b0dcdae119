"""Batches: rows of examples, packed. Which batch a step gets depends on the seed and the step alone.

So a run that goes on from a checkpoint needs no position in the data but its step, and it does not matter
how many processes make the batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from codeserve.completion.tokens import Tokenizer
from training.attention import SEGMENTS_IN_ROW
from training.corpus import Corpus
from training.examples import IDS, Sampler

__all__ = ["BatchShape", "Batches", "loader"]

_SHORTEST = 128  # tokens of an example's room; lengths are log-uniform from there to a row's
_LEAST = 64  # tokens left in a row below which it is padded
# Consecutive multiples of the golden ratio, modulo 1, are spread evenly (Weyl): every part of the corpus gets
# its share of cursors without a list of what was seen.
_GOLDEN = 0x9E3779B97F4A7C15
_APART = 0xD1B54A32D192ED03  # between the places of two seeds
_MOST = 128  # tries to fill a row


@dataclass(frozen=True)
class BatchShape:
    rows: int
    tokens: int  # a row


class Batches(Dataset[dict[str, torch.Tensor]]):
    """Item ``step`` is the batch of that step: tensors [rows, tokens] by name.

    ``ids`` int32; ``weights`` float16, of predicting each id; ``segments`` int16, which example of the row
    an id is of (ascending); ``positions`` int16, of an id in its example; ``middles`` bool, whether an id
    is of a middle.
    """

    def __init__(self, corpus: Path, tokenizer: Path, shape: BatchShape, seed: int) -> None:
        self._paths = (corpus, tokenizer)
        self._shape = shape
        self._seed = seed
        self._opened: tuple[int, Sampler] | None = (
            None  # corpus size and sampler; opened in the worker process
        )

    def __getitem__(self, step: int) -> dict[str, torch.Tensor]:
        if self._opened is None:
            corpus = Corpus(self._paths[0])
            self._opened = corpus.tokens, Sampler(corpus, Tokenizer.load(self._paths[1]))
        rows = [self._row(step, row, *self._opened) for row in range(self._shape.rows)]
        return {name: torch.from_numpy(np.stack([row[name] for row in rows])) for name in rows[0]}

    def _row(self, step: int, row: int, size: int, sampler: Sampler) -> dict[str, np.ndarray[Any, Any]]:
        length = self._shape.tokens
        number = step * self._shape.rows + row
        random = np.random.Generator(np.random.Philox(key=[self._seed, number]))
        ids = np.full(length, IDS.eos, np.int32)
        weights = np.zeros(length, np.float16)
        segments = np.zeros(length, np.int16)
        positions = np.zeros(length, np.int16)
        middles = np.zeros(length, np.bool_)
        filled = segment = 0
        for count in range(_MOST):
            left = length - filled
            if left < _LEAST or segment == SEGMENTS_IN_ROW - 1:  # the last one is for padding
                break
            room = (
                int(np.exp(random.uniform(np.log(_SHORTEST), np.log(length))))
                if length > _SHORTEST
                else length
            )
            turn = (self._seed * _APART + (number * _MOST + count) * _GOLDEN) % 2**64
            example = sampler.draw((turn * size) >> 64, min(room, left), random)
            if example is None:
                continue
            end = filled + len(example.ids)
            ids[filled:end] = example.ids
            weights[filled:end] = example.weights
            segments[filled:end] = segment
            positions[filled:end] = np.arange(end - filled)
            if example.middle:
                middles[end - example.middle : end] = True
            filled, segment = end, segment + 1
        segments[filled:] = segment
        positions[filled:] = np.arange(length - filled)
        return {
            "ids": ids,
            "weights": weights,
            "segments": segments,
            "positions": positions,
            "middles": middles,
        }


def loader(batches: Batches, steps: range, workers: int, *, pin: bool) -> DataLoader[dict[str, torch.Tensor]]:
    """The batches of ``steps``, in order, made ahead by ``workers`` processes (0: by this one)."""
    return DataLoader(
        batches,
        batch_size=None,
        sampler=steps,
        num_workers=workers,
        pin_memory=pin,
        prefetch_factor=4 if workers else None,
        persistent_workers=False,
    )
