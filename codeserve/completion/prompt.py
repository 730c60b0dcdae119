"""From a document around the cursor to the token ids of a prompt."""

from __future__ import annotations

from typing import Literal

import attrs

from codeserve.completion.cut import cut_prefix, cut_suffix
from codeserve.completion.fim import FimFormat
from codeserve.completion.languages import language_of
from codeserve.completion.stop import resolve_mode
from codeserve.completion.tokens import Tokenizer
from codeserve.completion.window import Budget, encode_head, encode_tail
from codeserve.protocol import Mode
from codeserve.wire import clean_text

__all__ = ["LINE_TOKENS", "CompletionInput", "Prompt", "PromptBuilder"]

LINE_TOKENS = 64  # of output in `line` mode; longer lines are data

# What stands behind the cursor at the end of a file: text files end with a newline, and so do those that the
# models were trained on. With nothing at all there, they go on as if no suffix had been asked for.
_END_OF_FILE = "\n"


@attrs.frozen
class CompletionInput:
    """What is asked: the text around the cursor, of any length, with any line ends."""

    prefix: str = attrs.field(repr=False)
    suffix: str = attrs.field(default="", repr=False)
    path: str = ""
    language: str = ""  # an LSP language id; guessed from the path when empty
    snippets: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)  # (path, text), best first
    mode: Mode = "auto"
    max_tokens: int | None = None  # of output; None: what is usual for the mode


@attrs.frozen
class Prompt:
    """What the engine gets, and what `codeserve.completion.stream` needs to read its output."""

    token_ids: list[int] = attrs.field(repr=False)
    stop_token_ids: tuple[int, ...]
    max_tokens: int
    prefix: str = attrs.field(repr=False)  # with "\n" line ends, cut to the wire's limit
    suffix: str = attrs.field(repr=False)
    mode: Literal["line", "block", "endless"]
    language: str


class PromptBuilder:
    """Builds prompts for one model. Thread-safe."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        format: FimFormat,
        *,
        context_tokens: int = 4096,
        max_output_tokens: int = 128,
        snippet_tokens: int | None = None,
        endless: bool = False,
    ) -> None:
        """``context_tokens`` holds prompt and output; of it snippets get ``snippet_tokens`` at most, and a
        quarter where that is None or more.

        ``endless`` is for dummy weights: what they write has no end, so that only the budget ends it.
        Raises: ConfigError when no room is left for code.
        """
        self._endless = endless
        self._tokenizer = tokenizer
        self._format = format
        self._max_tokens = {"line": min(max_output_tokens, LINE_TOKENS), "block": max_output_tokens}
        self._budget = Budget.of(context_tokens, max_output_tokens, format.specials, snippet_tokens)

    @property
    def snippet_tokens(self) -> int:
        """How many tokens of a prompt snippets may have; 0: they are left out."""
        return self._budget.snippets

    def build(self, input: CompletionInput) -> Prompt:
        """The prompt for a completion. Costs what fits in the context, however long the texts are."""
        tokenizer, budget = self._tokenizer, self._budget
        prefix, suffix = cut_prefix(input.prefix), cut_suffix(input.suffix)
        if prefix.endswith("\r") and suffix.startswith("\n"):
            prefix = prefix[:-1]  # the cursor cannot be inside a line end
        prefix, suffix = _normal(prefix), _normal(suffix)
        language = language_of(input.language, input.path)
        mode = resolve_mode(input.mode, prefix, suffix, language)
        suffix_ids = encode_head(tokenizer, suffix or _END_OF_FILE, budget.quarter)
        context = self._format.context(
            tokenizer,
            [(_one_line(path), _normal(text)) for path, text in input.snippets] if budget.snippets else [],
            path=_one_line(input.path),
            language=language,
            limit=budget.snippets,
        )
        prefix_ids = encode_tail(
            tokenizer,
            prefix,
            budget.prefix(len(suffix_ids), len(context)),
            leading=not context.header,
        )
        stops = self._format.stop_token_ids
        if mode == "line" and suffix.partition("\n")[0].strip() and tokenizer.newline_id is not None:
            stops += (tokenizer.newline_id,)
        return Prompt(
            token_ids=self._format.assemble(prefix_ids, suffix_ids, context),
            stop_token_ids=() if self._endless else stops,
            max_tokens=min(self._max_tokens[mode], input.max_tokens or self._max_tokens[mode]),
            prefix=prefix,
            suffix=suffix,
            mode="endless" if self._endless else mode,
            language=language,
        )


def _normal(text: str) -> str:
    return clean_text(text).replace("\r\n", "\n").replace("\r", "\n")


def _one_line(path: str) -> str:
    return _normal(path).replace("\n", " ")  # a path with a newline would end the comment it stands in
