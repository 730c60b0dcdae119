"""Holes in code, and what was in them: HumanEval infilling (``bench/data/README.md``), and any lines."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeVar

import attrs
import orjson

from codeserve.bench.quality.sources import Source
from codeserve.errors import ConfigError

__all__ = ["Problem", "ProblemSet", "line_problem", "load_problems", "sample"]

T = TypeVar("T")

ProblemSet = Literal["single-line", "multi-line"]

_TELLING = 3  # letters and digits of a line that is worth guessing

_DATA = Path(__file__).resolve().parent.parent / "data"
_FILES: dict[str, str] = {
    "single-line": "HumanEval-SingleLineInfilling.jsonl.gz",
    "multi-line": "HumanEval-MultiLineInfilling.jsonl.gz",
}


@attrs.frozen
class Problem:
    """A hole of whole lines: ``prefix`` and ``solution`` end with a newline, ``suffix`` begins a line.

    A solution is tested where there is a ``test``, which defines ``check(candidate)``, for a function by the
    name of ``entry_point``.
    """

    id: str
    prefix: str = attrs.field(repr=False)
    suffix: str = attrs.field(repr=False)
    solution: str = attrs.field(repr=False)
    path: str
    language: str
    test: str = attrs.field(default="", repr=False)
    entry_point: str = ""

    @property
    def around(self) -> tuple[str, str]:
        """Prefix and suffix as an editor has them: the cursor stands on a blank line of its own."""
        return self.prefix, "\n" + self.suffix

    def program(self, text: str) -> str:
        """The whole program with ``text`` in the hole. Its line is ended where the text does not end it."""
        end = "" if text.endswith("\n") else "\n"
        return f"{self.prefix}{text}{end}{self.suffix}"


def load_problems(name: ProblemSet) -> list[Problem]:
    """All problems of a set, in the order of the file. Raises: ConfigError when the file is not there."""
    path = _DATA / _FILES[name]
    try:
        with gzip.open(path) as file:
            records = [orjson.loads(line) for line in file]
    except OSError:
        raise ConfigError(f"{path.name} is missing from {path.parent}: install codeserve again") from None
    return [
        Problem(
            id=record["task_id"],
            prefix=record["prompt"],
            suffix=record["suffix"],
            solution=record["canonical_solution"],
            path="problem.py",
            language="python",
            test=record["test"],
            entry_point=record["entry_point"],
        )
        for record in records
    ]


def line_problem(source: Source, rng: random.Random) -> Problem:
    """One random line of a file as a hole, indentation included; not one of brackets alone."""
    lines = source.text.split("\n")
    telling = [number for number, line in enumerate(lines) if sum(map(str.isalnum, line)) >= _TELLING]
    number = rng.choice(telling or range(len(lines)))
    return Problem(
        id=f"{source.path}:{number + 1}",
        prefix="".join(line + "\n" for line in lines[:number]),
        suffix="\n".join(lines[number + 1 :]),
        solution=lines[number] + "\n",
        path=source.path,
        language=source.language,
    )


def sample(items: Sequence[T], size: int | None, seed: int) -> list[T]:
    """``size`` of the items, chosen by ``seed`` and in their old order; all of them when None or too many."""
    if size is None or size >= len(items):
        return list(items)
    chosen = random.Random(seed).sample(range(len(items)), size)
    return [items[place] for place in sorted(chosen)]
