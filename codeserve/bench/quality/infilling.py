"""HumanEval infilling: exact match and pass@1, through the server and from the model alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from codeserve.bench.quality.ask import Answer, Asker, Question
from codeserve.bench.quality.problems import Problem
from codeserve.bench.quality.sandbox import Sandbox
from codeserve.bench.quality.score import edit_similarity, exact, paired, proportion
from codeserve.protocol import Mode

__all__ = ["Case", "Judge", "SERVED", "gather", "run_infilling", "summarise"]

# The name of the server among the models that are asked.
SERVED = "served"


@attrs.frozen
class Case:
    """One problem, one model."""

    problem: str
    model: str
    text: str = attrs.field(repr=False)
    outcome: str
    total_ms: float
    exact: bool
    similarity: float
    passed: bool
    reason: str  # why it did not pass
    confidence: float | None = None


class Judge:
    """Asks and judges one problem."""

    def __init__(self, models: Mapping[str, Asker], mode: Mode, sandbox: Sandbox) -> None:
        self._models = models
        self._mode = mode
        self._sandbox = sandbox

    async def __call__(self, problem: Problem) -> list[Case]:
        return [await self._case(problem, name, model) for name, model in self._models.items()]

    async def _case(self, problem: Problem, name: str, model: Asker) -> Case:
        # The model alone is asked as the data set's authors do, the server as an editor does.
        prefix, suffix = problem.around if name == SERVED else (problem.prefix, problem.suffix)
        question = Question(prefix, suffix, path="problem.py", language="python", mode=self._mode)
        answer = await model(question)
        return await self._judged(problem, name, answer)

    async def _judged(self, problem: Problem, name: str, answer: Answer) -> Case:
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
            outcome=answer.outcome,
            total_ms=answer.total_ms,
            exact=exact(answer.text, problem.solution),
            similarity=edit_similarity(answer.text, problem.solution),
            passed=verdict.passed,
            reason=verdict.reason,
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

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(item)) for item in items]
    return [task.result() for task in tasks]


def summarise(cases: Sequence[Case]) -> dict[str, Any]:
    """Figures by model, and the server's beside each of the others on the same problems."""
    models = dict.fromkeys(case.model for case in cases)
    by_model = {name: [case for case in cases if case.model == name] for name in models}
    served = by_model.get(SERVED)
    return {
        "models": {name: _figures(some) for name, some in by_model.items()},
        "paired": {
            name: {
                "pass_at_1": paired([case.passed for case in served], [case.passed for case in some]),
                "exact_match": paired([case.exact for case in served], [case.exact for case in some]),
            }
            for name, some in by_model.items()
            if served is not None and name != SERVED
        },
    }


def _figures(cases: Sequence[Case]) -> dict[str, Any]:
    count = len(cases)
    return {
        "pass_at_1": proportion(sum(case.passed for case in cases), count),
        "exact_match": proportion(sum(case.exact for case in cases), count),
        "edit_similarity": round(sum(case.similarity for case in cases) / count, 4) if count else None,
        "no_text": sum(not case.text for case in cases),
        "outcomes": dict(sorted(Counter(case.outcome for case in cases).items())),
    }
