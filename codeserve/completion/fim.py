"""Prompts for filling in the middle, by token id, for the model families that publish a format.

Sources: CodeLlama, Meta's `generation.py` (`infilling_prompt_tokens`); Qwen2.5-Coder, its technical report
(arXiv 2409.12186, file and repository level); StarCoder2, arXiv 2402.19173 section 5; DeepSeek-Coder, its
README; Codestral, `encode_fim` of mistral-common; CodeGemma, its model card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Literal

import attrs

from codeserve.completion.languages import comment_marks
from codeserve.completion.tokens import Tokenizer
from codeserve.completion.window import encode_whole
from codeserve.errors import ConfigError

__all__ = ["FIM_FORMATS", "Context", "FimFormat", "fim_format"]


class _Part(Enum):
    """Where the parts of a prompt go among the sentinels."""

    FILES = "files"  # other files, told apart by sentinels
    HEADER = "header"  # what stands in front of the prefix
    PREFIX = "prefix"
    SUFFIX = "suffix"


_FILES, _HEADER, _PREFIX, _SUFFIX = _Part


@attrs.frozen
class _Family:
    """A published format: sentinels and parts in order, and what ends the output."""

    layout: tuple[str | _Part, ...]
    stops: tuple[str, ...]  # the first one must exist; others where the tokenizer has them
    files: Literal["comments", "qwen", "starcoder"] = "comments"
    file_sentinels: tuple[str, ...] = ()


_CODELLAMA_STOPS = ("▁<EOT>", "</s>")

_FAMILIES = {
    # In SPM order a typed character is appended to the prompt, so that the KV cache of all before it holds.
    "codellama-spm": _Family(
        ("<s>", "▁<PRE>", "▁<SUF>", _SUFFIX, "▁<MID>", _HEADER, _PREFIX),
        _CODELLAMA_STOPS,
    ),
    "codellama-psm": _Family(
        ("<s>", "▁<PRE>", _HEADER, _PREFIX, "▁<SUF>", _SUFFIX, "▁<MID>"),
        _CODELLAMA_STOPS,
    ),
    "qwen2.5-coder": _Family(
        (_FILES, "<|fim_prefix|>", _HEADER, _PREFIX, "<|fim_suffix|>", _SUFFIX, "<|fim_middle|>"),
        ("<|endoftext|>", "<|fim_pad|>", "<|im_end|>", "<|im_start|>"),
        "qwen",
        ("<|repo_name|>", "<|file_sep|>"),
    ),
    "starcoder2": _Family(
        (_FILES, "<fim_prefix>", _HEADER, _PREFIX, "<fim_suffix>", _SUFFIX, "<fim_middle>"),
        ("<|endoftext|>", "<fim_pad>", "<repo_name>"),
        "starcoder",
        ("<file_sep>",),
    ),
    "deepseek-coder": _Family(
        (
            "<｜begin▁of▁sentence｜>",
            "<｜fim▁begin｜>",
            _HEADER,
            _PREFIX,
            "<｜fim▁hole｜>",
            _SUFFIX,
            "<｜fim▁end｜>",
        ),
        ("<｜end▁of▁sentence｜>", "<|EOT|>"),
    ),
    "codestral": _Family(
        ("<s>", "[SUFFIX]", _SUFFIX, "[PREFIX]", _HEADER, _PREFIX),
        ("</s>", "[MIDDLE]"),
    ),
    "codegemma": _Family(
        ("<bos>", "<|fim_prefix|>", _HEADER, _PREFIX, "<|fim_suffix|>", _SUFFIX, "<|fim_middle|>"),
        ("<eos>", "<|file_separator|>", "<end_of_turn>"),
    ),
}

FIM_FORMATS = tuple(_FAMILIES)


@attrs.frozen
class Context:
    """Other files in a prompt: token ids in front of the sentinels, and in front of the prefix."""

    files: list[int] = attrs.field(factory=list)
    header: list[int] = attrs.field(factory=list)

    def __len__(self) -> int:
        return len(self.files) + len(self.header)


@attrs.frozen
class FimFormat:
    """How one model family is asked to fill in the middle. Get one from `fim_format`."""

    name: str
    stop_token_ids: tuple[int, ...]  # whatever ends the middle, the model's end of text included
    _layout: tuple[int | _Part, ...]
    _style: str
    _file_ids: tuple[int, ...]

    @property
    def specials(self) -> int:
        """How many sentinels a prompt without other files has."""
        return sum(isinstance(item, int) for item in self._layout)

    def assemble(self, prefix: list[int], suffix: list[int], context: Context) -> list[int]:
        """The prompt, from the ids of its parts."""
        parts = {
            _FILES: context.files,
            _HEADER: context.header,
            _PREFIX: prefix,
            _SUFFIX: suffix,
        }
        ids: list[int] = []
        for item in self._layout:
            if isinstance(item, int):
                ids.append(item)
            else:
                ids.extend(parts[item])
        return ids

    def context(
        self,
        tokenizer: Tokenizer,
        snippets: Sequence[tuple[str, str]],
        *,
        path: str,
        language: str,
        limit: int,
    ) -> Context:
        """Snippets ``(path, text)`` in the given order up to the first that exceeds ``limit`` tokens in all.

        Only whole ones, and one that is added leaves those before it as they were, in ids too.
        """
        if self._style == "comments":
            return Context(header=self._comments(tokenizer, snippets, language, limit))
        named = tokenizer.encode_infilling((path or "untitled") + "\n")
        separator = self._file_ids[-1]
        if self._style == "qwen":
            # The report wants a repository's name; the request has none.
            opening = [self._file_ids[0], *tokenizer.encode_infilling("repository\n")]
            tail, header, end = [separator, *named], [], "\n"
        else:
            opening, tail, header, end = [], [separator], named, ""
        room = limit - len(opening) - len(tail) - len(header)
        files = _take(
            snippets,
            room,
            lambda where, text, left: _prepend(
                separator, encode_whole(tokenizer, f"{where}\n{text}{end}", left - 1, leading=False)
            ),
        )
        return Context(opening + files + tail, header) if files else Context()

    @staticmethod
    def _comments(
        tokenizer: Tokenizer, snippets: Sequence[tuple[str, str]], language: str, limit: int
    ) -> list[int]:
        before, after = comment_marks(language)

        def render(where: str, text: str, left: int) -> list[int] | None:
            lines = [f"Path: {where}", *text.rstrip().split("\n")]
            block = "".join(f"{before}{line}{after}".rstrip() + "\n" for line in lines)
            return encode_whole(tokenizer, block, left, leading=left == limit)

        return _take(snippets, limit, render)


def _take(
    snippets: Sequence[tuple[str, str]], room: int, render: Callable[[str, str, int], list[int] | None]
) -> list[int]:
    ids: list[int] = []
    for where, text in snippets:
        part = render(where, text, room - len(ids))
        if part is None:
            break
        ids.extend(part)
    return ids


def _prepend(id: int, ids: list[int] | None) -> list[int] | None:
    return None if ids is None else [id, *ids]


def fim_format(name: str, tokenizer: Tokenizer) -> FimFormat:
    """The format ``name`` with this tokenizer's ids.

    Raises: ConfigError when there is no such format, or the tokenizer lacks one of its sentinels.
    """
    family = _FAMILIES.get(name)
    if family is None:
        raise ConfigError(f"unknown FIM format {name!r}: one of {', '.join(FIM_FORMATS)}")

    def need(token: str) -> int:
        id = tokenizer.token_id(token)
        if id is None:
            raise ConfigError(
                f"the tokenizer has no {token}, which FIM format {name!r} needs: "
                "choose the model's own format, or a model that was trained to fill in the middle"
            )
        return id

    layout = tuple(need(item) if isinstance(item, str) else item for item in family.layout)
    files = tuple(map(need, family.file_sentinels))
    first, *others = family.stops
    optional = [id for token in others if (id := tokenizer.token_id(token)) is not None]
    # A sentinel in the output means that the middle is over, too.
    stops = dict.fromkeys(
        [need(first), *optional, *files, *(item for item in layout if isinstance(item, int))]
    )
    return FimFormat(name, tuple(stops), layout, family.files, files)
