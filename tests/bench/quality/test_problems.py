"""Problems: where their hole is, and what fills it."""

from __future__ import annotations

import random

import pytest

from codeserve.bench.quality.problems import ProblemSet, line_problem, load_problems, sample
from codeserve.bench.quality.sources import Source


@pytest.mark.parametrize(("name", "count"), [("single-line", 1033), ("multi-line", 5815)])
def test_sets_are_whole(name: ProblemSet, count: int) -> None:
    """All problems are there; each begins a line, and its solution makes a program that compiles."""
    problems = load_problems(name)
    assert len(problems) == count
    for problem in problems[::50]:
        assert problem.prefix.endswith("\n")
        compile(problem.program(problem.solution), problem.id, "exec")


def test_program_ends_the_line() -> None:
    """A text without a newline at its end is given one; the editor's view has the cursor on a blank line."""
    problem = load_problems("single-line")[0]
    text = problem.solution.rstrip("\n")
    assert problem.program(text) == problem.program(problem.solution)
    assert problem.around == (problem.prefix, "\n" + problem.suffix)


def test_sample() -> None:
    """The same seed gives the same problems in their order; no size gives all."""
    items = list(range(100))
    assert sample(items, 10, 1) == sample(items, 10, 1) == sorted(sample(items, 10, 1))
    assert sample(items, 10, 1) != sample(items, 10, 2)
    assert sample(items, None, 1) == sample(items, 1000, 1) == items


def test_line_problem() -> None:
    """A line of a file with code in it is taken out, and put back it gives the file."""
    text = "x = 1\n\n}\n)\nlast = 2"
    source = Source("a/b.py", "python", text)
    for seed in range(20):
        problem = line_problem(source, random.Random(seed))
        assert problem.solution in ("x = 1\n", "last = 2\n")
        assert problem.program(problem.solution).rstrip("\n") == text
        assert problem.test == ""
