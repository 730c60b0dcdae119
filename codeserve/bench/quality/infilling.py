"""Holes filled: exact match and pass@1, through the server and by the model alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from codeserve.bench.quality.ask import Asker, Question
from codeserve.bench.quality.problems import Problem
from codeserve.bench.quality.sandbox import Sandbox
from codeserve.bench.quality.score import edit_similarity, exact, kept, paired, proportion, sweep
from codeserve.protocol import Mode, Snippet

__all__ = ["SERVED", "Case", "Judge", "compare", "gather", "run_infilling", "summarise"]

# The name of the server among the models that are asked.
SERVED = "served"


@attrs.frozen
class Case:
    """One problem, one model."""

    problem: str
    model: str
    text: str = attrs.field(repr=False)
    solution: str = attrs.field(repr=False)
    outcome: str
    total_ms: float
    exact: bool
    similarity: float
    passed: bool | None  # None without a test
    reason: str  # why it did not pass
    language: str
    confidence: float | None = None


class Judge:
    """Asks and judges one problem."""

    def __init__(
        self,
        models: Mapping[str, Asker],
        mode: Mode,
        sandbox: Sandbox,
        snippets: Mapping[str, tuple[Snippet, ...]] | None = None,
    ) -> None:
        """``snippets`` go along, by the problem's path, where the server is asked."""
        self._models = models
        self._mode = mode
        self._sandbox = sandbox
        self._snippets = snippets or {}

    async def __call__(self, problem: Problem) -> list[Case]:
        return [await self._case(problem, name, model) for name, model in self._models.items()]

    async def _case(self, problem: Problem, name: str, model: Asker) -> Case:
        # The model alone is asked as the data set's authors do, the server as an editor does.
        served = name == SERVED
        prefix, suffix = problem.around if served else (problem.prefix, problem.suffix)
        snippets = self._snippets.get(problem.path, ()) if served else ()
        question = Question(prefix, suffix, problem.path, problem.language, self._mode, snippets)
        answer = await model(question)
        verdict = None
        if problem.test:
            verdict = await self._sandbox.judge(
                problem.program(answer.text),
                reference=problem.program(problem.solution),
                test=problem.test,
                entry_point=problem.entry_point,
            )
        return Case(
            problem=problem.id,
            model=name,
            text=answer.text,
            solution=problem.solution,
            outcome=answer.outcome,
            total_ms=answer.total_ms,
            exact=exact(answer.text, problem.solution),
            similarity=edit_similarity(answer.text, problem.solution),
            passed=verdict.passed if verdict else None,
            reason=verdict.reason if verdict else "",
            language=problem.language,
            confidence=answer.confidence,
        )


async def run_infilling(
    problems: Sequence[Problem], judge: Judge, *, at_once: int, on_case: Callable[[], None]
) -> list[Case]:
    """All problems, ``at_once`` of them at a time; ``on_case`` is called after each."""
    cases = await gather(problems, judge, at_once=at_once, on_case=on_case)
    return [case for some in cases for case in some]


async def gather(
    items: Sequence[Any], work: Callable[[Any], Any], *, at_once: int, on_case: Callable[[], None]
) -> list[Any]:
    """``work`` on all items, so many at a time; the results in the items' order."""
    slots = asyncio.Semaphore(at_once)

    async def one(item: Any) -> Any:
        async with slots:
            result = await work(item)
            on_case()
            return result

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item)) for item in items]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None  # the first failure ends all, and is told in one line
    return [task.result() for task in tasks]


def summarise(cases: Sequence[Case]) -> dict[str, Any]:
    """Figures by model, and the server's beside each of the others on the same problems."""
    by_model = _grouped(cases, lambda case: case.model)
    served = by_model.get(SERVED, [])
    languages = _grouped(cases, lambda case: case.language.removesuffix("react"))
    return {
        "models": {name: _figures(some) for name, some in by_model.items()},
        "paired": {
            name: compare(some, served) for name, some in by_model.items() if served and name != SERVED
        },
        "by_language": {
            language: {name: _figures(each) for name, each in _grouped(some, lambda case: case.model).items()}
            for language, some in (languages.items() if len(languages) > 1 else ())
        },
        "confidence": sweep(
            (case.confidence, case.exact, kept(case.text, case.solution), len(case.text))
            for case in served
            if case.text and case.confidence is not None
        ),
    }


def compare(first: Sequence[Case], second: Sequence[Case]) -> dict[str, Any]:
    """The same problems under two conditions (`score.paired`)."""
    figures = {"exact_match": paired([case.exact for case in first], [case.exact for case in second])}
    if any(case.passed is not None for case in first):
        figures["pass_at_1"] = paired(
            [bool(case.passed) for case in first], [bool(case.passed) for case in second]
        )
    return figures


def _grouped(cases: Sequence[Case], key: Callable[[Case], str]) -> dict[str, list[Case]]:
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(key(case), []).append(case)
    return groups


def _figures(cases: Sequence[Case]) -> dict[str, Any]:
    count = len(cases)
    tested = [case for case in cases if case.passed is not None]
    return {
        "pass_at_1": proportion(sum(bool(case.passed) for case in tested), len(tested)) if tested else None,
        "exact_match": proportion(sum(case.exact for case in cases), count),
        "edit_similarity": round(sum(case.similarity for case in cases) / count, 4) if count else None,
        "no_text": sum(not case.text for case in cases),
        "outcomes": dict(sorted(Counter(case.outcome for case in cases).items())),
    }
