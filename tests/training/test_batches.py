"""Which places of the corpus a run visits."""

from pathlib import Path

import numpy as np

from training.batches import Batches, BatchShape
from training.examples import Example, Sampler


class _Places(Sampler):
    """Notes the places that are asked for, and gives an example that fills a row."""

    def __init__(self) -> None:
        self.places: list[int] = []

    def draw(self, token: int, room: int, random: np.random.Generator) -> Example | None:
        self.places.append(token)
        example = Example()
        example.add([5] * room, 1.0)
        return example


def _places(seed: int, size: int) -> list[int]:
    sampler = _Places()
    batches = Batches(Path(), Path(), BatchShape(rows=4, tokens=512), seed)
    for row in range(40):
        batches._row(0, row, size, sampler)
    return sampler.places


def test_a_seed_has_its_own_places() -> None:
    """Two seeds begin far apart; one seed gives the same places each time, spread over all of the corpus."""
    size = 1_000_000
    one, two = _places(1, size), _places(2, size)
    assert one == _places(1, size)
    assert abs(one[0] - two[0]) > size // 10
    assert len({place * 10 // size for place in one}) == 10
