"""Two ways to the same model: through the server with all that it does, and straight to its engine."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Protocol

import attrs

from codeserve.client import Client, RequestError
from codeserve.completion.fim import Context, FimFormat
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.base import Engine, GenerationRequest
from codeserve.protocol import MIN_CONFIDENCE, Finish, Mode, Snippet

__all__ = ["Answer", "Asker", "Question", "RawModel", "ServedModel"]

# What a completion that a user would be shown must not be.
_GIVEN_UP = (Finish.SUPERSEDED, Finish.CANCELLED)


@attrs.frozen
class Question:
    """A cursor: what stands around it, and what is asked for there."""

    prefix: str = attrs.field(repr=False)
    suffix: str = attrs.field(repr=False)
    path: str = ""
    language: str = ""  # an LSP language id
    mode: Mode = "auto"
    snippets: tuple[Snippet, ...] = attrs.field(default=(), repr=False)


@attrs.frozen
class Answer:
    """What came back. Times are milliseconds, at the asker."""

    text: str = attrs.field(repr=False)
    outcome: str  # the finish reason, or an error's code
    total_ms: float
    output_tokens: int = 0
    confidence: float | None = None  # mean log-probability of a token, where the server says it


class Asker(Protocol):
    """Something that completes code."""

    async def __call__(self, question: Question) -> Answer: ...


class ServedModel:
    """The server, over its WebSocket: budgets, stop rules, trimming and all."""

    def __init__(self, client: Client, *, deadline_ms: int, min_confidence: float = MIN_CONFIDENCE) -> None:
        """``min_confidence`` is asked for in place of the server's own; by default every text is shown."""
        self._client = client
        self._deadline_ms = deadline_ms
        self._min_confidence = min_confidence
        self._documents = itertools.count(1)

    async def __call__(self, question: Question) -> Answer:
        handle = self._client.complete(
            # each a document of its own: none supersedes another
            document=f"bench:quality:{next(self._documents)}",
            prefix=question.prefix,
            suffix=question.suffix,
            path=question.path,
            language=question.language,
            snippets=question.snippets,
            deadline_ms=self._deadline_ms,
            mode=question.mode,
            min_confidence=self._min_confidence,
        )
        try:
            done = await handle.result()
        except RequestError as exc:
            return Answer("", exc.code, handle.total_ms or 0.0)
        text = "" if done.finish in _GIVEN_UP else done.text
        return Answer(text, done.finish.value, handle.total_ms or 0.0, done.tokens.output, done.confidence)


class RawModel:
    """The model alone: a plain prompt in its format, its whole output, no rule but its own end.

    In ``line`` mode generation stops at the first newline, as the published figures for single lines do.
    """

    def __init__(
        self,
        engine: Engine,
        tokenizer: Tokenizer,
        format: FimFormat,
        *,
        context_tokens: int,
        max_tokens: dict[Mode, int],
    ) -> None:
        """``max_tokens`` is the budget of output by mode, the same as the server's."""
        self._engine = engine
        self._tokenizer = tokenizer
        self._format = format
        self._room = context_tokens - format.specials
        self._max_tokens = max_tokens
        self._numbers = itertools.count(1)

    async def __call__(self, question: Question) -> Answer:
        line = question.mode == "line"
        budget = self._max_tokens[question.mode]
        stops = self._format.stop_token_ids
        if line and self._tokenizer.newline_id is not None:
            stops = (*stops, self._tokenizer.newline_id)
        request = GenerationRequest(
            id=f"raw-{self._format.name}-{next(self._numbers)}",
            prompt_token_ids=self.prompt(question, self._room - budget),
            max_tokens=budget,
            stop_token_ids=stops,
        )
        began = time.perf_counter()
        ids: list[int] = []
        outcome = "stop"
        async for chunk in self._engine.generate(request):
            ids.extend(chunk.token_ids)
            outcome = chunk.finish or outcome
        text = self._text(ids)
        total_ms = (time.perf_counter() - began) * 1000
        return Answer(text.partition("\n")[0] if line else text, outcome, total_ms, len(ids))

    def prompt(self, question: Question, room: int) -> list[int]:
        """The prompt's ids; of a long document the text nearest to the cursor, a quarter of it behind."""
        suffix = self._tokenizer.encode_infilling(question.suffix)[: room // 4]
        prefix = self._tokenizer.encode(question.prefix)[-(room - len(suffix)) :]
        return self._format.assemble(prefix, suffix, Context())

    def _text(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode_infilling(id for id in ids if id not in self._format.stop_token_ids)
