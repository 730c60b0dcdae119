"""What the pipeline makes of right answers: it is given what the author wrote, as if a model had written it.

Needs no engine, only a tokenizer: each answer goes token by token through the stop rules and the trimming of
`codeserve.completion`. Whatever is lost here is lost for every model, however good.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import attrs

from codeserve.bench.quality.problems import load_problems, sample
from codeserve.bench.quality.score import proportion
from codeserve.bench.quality.sources import Source, choose
from codeserve.bench.quality.spots import choose_spot
from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import CompletionInput, PromptBuilder
from codeserve.completion.stream import CompletionStream
from codeserve.completion.tokens import Tokenizer
from codeserve.protocol import Mode

__all__ = ["Answered", "Pipeline", "run_right"]

Fate = Literal["whole", "lines cut", "line cut", "dropped", "changed"]


@attrs.frozen
class Answered:
    """One right answer and what is left of it."""

    id: str
    right: str = attrs.field(repr=False)
    left: str = attrs.field(repr=False)

    @property
    def fate(self) -> Fate:
        """Whole; cut at a line's end or within a line; dropped; or no longer what was written."""
        right, left = self.right.rstrip(), self.left.rstrip()
        if left == right:
            return "whole"
        if not left:
            return "dropped"
        if not right.startswith(left):
            return "changed"
        return "lines cut" if right[len(left) :].lstrip(" \t").startswith("\n") else "line cut"


class Pipeline:
    """The part of the server that stands between the model's tokens and the editor."""

    def __init__(
        self, tokenizer: Tokenizer, fim: str, *, context_tokens: int, max_output_tokens: int
    ) -> None:
        """Raises: ConfigError for a format that the tokenizer does not have."""
        self._tokenizer = tokenizer
        self._builder = PromptBuilder(
            tokenizer,
            fim_format(fim, tokenizer),
            context_tokens=context_tokens,
            max_output_tokens=max_output_tokens,
        )

    def left(self, prefix: str, suffix: str, text: str, *, language: str, mode: Mode) -> str:
        """What an editor gets when the model writes ``text`` and then its end."""
        prompt = self._builder.build(CompletionInput(prefix, suffix, language=language, mode=mode))
        stream = CompletionStream(self._tokenizer, prompt)
        ids = [*self._tokenizer.encode_infilling(text), prompt.stop_token_ids[0]]
        for id in ids[: prompt.max_tokens]:
            stream.feed((id,))
        return stream.finish()


def run_right(
    pipeline: Pipeline, sources: Sequence[Source], *, limit: int | None, seed: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """HumanEval's solutions, and what authors wrote at random places: figures, and all that is lost."""
    rng = random.Random(f"{seed}-right")
    parts = {
        "single-line": _problems(pipeline, "single-line", "line", limit, seed),
        "multi-line": _problems(pipeline, "multi-line", "block", limit, seed),
    }
    for language in sorted({source.language.removesuffix("react") for source in sources}):
        some = [source for source in sources if source.language.removesuffix("react") == language]
        parts[f"written: {language}"] = _written(pipeline, choose(some, limit or 600, rng), rng)
    lost = [
        {"part": name, "fate": one.fate, **attrs.asdict(one)}
        for name, answers in parts.items()
        for one in answers
        if one.fate != "whole"
    ]
    return {name: _figures(answers) for name, answers in parts.items()}, lost


def _problems(
    pipeline: Pipeline, name: Literal["single-line", "multi-line"], mode: Mode, limit: int | None, seed: int
) -> list[Answered]:
    answers = []
    for problem in sample(load_problems(name), limit, seed):
        right = problem.solution.rstrip()
        left = pipeline.left(*problem.around, right, language=problem.language, mode=mode)
        answers.append(Answered(problem.id, right, left))
    return answers


def _written(pipeline: Pipeline, sources: Iterable[Source], rng: random.Random) -> list[Answered]:
    """In the mode that suits what was written: a line, or some."""
    answers = []
    for source in sources:
        spot = choose_spot(source, rng)
        if spot is not None:
            mode: Mode = "block" if "\n" in spot.written else "line"
            prefix = source.text[: spot.start]
            left = pipeline.left(prefix, spot.suffix, spot.written, language=source.language, mode=mode)
            answers.append(Answered(f"{source.path}:{prefix.count(chr(10)) + 1}", spot.written, left))
    return answers


def _figures(answers: Sequence[Answered]) -> dict[str, Any]:
    fates = Counter(answer.fate for answer in answers)
    return {"whole": proportion(fates["whole"], len(answers)), "fates": dict(sorted(fates.items()))}
