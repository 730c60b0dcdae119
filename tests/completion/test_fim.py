from __future__ import annotations

import pytest

from codeserve.completion.fim import FIM_FORMATS, Context, FimFormat, fim_format
from codeserve.completion.prompt import CompletionInput, PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.errors import ConfigError

from .samples import byte_level, sentencepiece

PREFIX = 'def remove_non_ascii(s: str) -> str:\n    """ '
SUFFIX = "\n    return result\n"
# Meta's ids for these, as published in llama.cpp issue 3503.
PREFIX_IDS = [822, 3349, 29918, 5464, 29918, 294, 18869, 29898, 29879, 29901, 851, 29897, 1599, 851, 29901]
PREFIX_IDS += [13, 1678, 9995, 29871]
SUFFIX_IDS = [13, 1678, 736, 1121, 13]

QWEN = (
    "<|fim_prefix|>",
    "<|fim_suffix|>",
    "<|fim_middle|>",
    "<|endoftext|>",
    "<|repo_name|>",
    "<|file_sep|>",
)
STARCODER = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<|endoftext|>", "<file_sep>", "<repo_name>")
DEEPSEEK = (
    "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜fim▁begin｜>", "<｜fim▁hole｜>",
    "<｜fim▁end｜>", "<|EOT|>",
)  # fmt: skip
CODESTRAL = ("<s>", "</s>", "[SUFFIX]", "[PREFIX]", "[MIDDLE]")
CODEGEMMA = (
    "<bos>", "<eos>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_separator|>",
)  # fmt: skip

FAMILIES = {
    # name, sentinels, a tokenizer with them, and the published order of sentinels, P(refix) and S(uffix)
    "qwen2.5-coder": (
        QWEN,
        byte_level(*QWEN, add_as_special=False),
        "<|fim_prefix|> P <|fim_suffix|> S <|fim_middle|>",
    ),
    "starcoder2": (STARCODER, byte_level(*STARCODER), "<fim_prefix> P <fim_suffix> S <fim_middle>"),
    "deepseek-coder": (
        DEEPSEEK,
        byte_level(*DEEPSEEK),
        "<｜begin▁of▁sentence｜> <｜fim▁begin｜> P <｜fim▁hole｜> S <｜fim▁end｜>",
    ),
    "codestral": (CODESTRAL, sentencepiece(*CODESTRAL), "<s> [SUFFIX] S [PREFIX] P"),
    "codegemma": (
        CODEGEMMA,
        sentencepiece(*CODEGEMMA, prepend=False),
        "<bos> <|fim_prefix|> P <|fim_suffix|> S <|fim_middle|>",
    ),
}


def show(tokenizer: Tokenizer, sentinels: tuple[str, ...], ids: list[int]) -> str:
    """A prompt as text, with sentinels in ⟨⟩."""
    names = {tokenizer.token_id(name): name for name in sentinels}
    return "".join(f"⟨{names[id]}⟩" if id in names else tokenizer.decode_infilling([id]) for id in ids)


def test_codellama_psm_is_metas(tokenizer: Tokenizer) -> None:
    """The golden case: prefix, suffix and sentinels give exactly the published ids."""
    builder = PromptBuilder(tokenizer, fim_format("codellama-psm", tokenizer))
    prompt = builder.build(CompletionInput(PREFIX, SUFFIX))
    assert prompt.token_ids == [1, 32007, *PREFIX_IDS, 32008, *SUFFIX_IDS, 32009]
    assert prompt.stop_token_ids[:2] == (32010, 2)


def test_codellama_spm_is_metas(tokenizer: Tokenizer) -> None:
    """The same ids in suffix-first order: BOS, PRE, SUF, suffix, MID, prefix."""
    builder = PromptBuilder(tokenizer, fim_format("codellama-spm", tokenizer))
    prompt = builder.build(CompletionInput(PREFIX, SUFFIX))
    assert prompt.token_ids == [1, 32007, 32008, *SUFFIX_IDS, 32009, *PREFIX_IDS]


def test_spm_appends_what_is_typed(tokenizer: Tokenizer) -> None:
    """In SPM order all but the last tokens of a prompt are those of the prompt before the keystroke."""
    builder = PromptBuilder(tokenizer, fim_format("codellama-spm", tokenizer))
    before = builder.build(CompletionInput("x = 1\ny = fo", SUFFIX)).token_ids
    after = builder.build(CompletionInput("x = 1\ny = foo(", SUFFIX)).token_ids
    assert after[: len(before) - 1] == before[:-1]


@pytest.mark.parametrize("name", FAMILIES)
def test_published_order(name: str) -> None:
    """Sentinels, prefix and suffix stand in the order that the family publishes."""
    _, data, order = FAMILIES[name]
    tokenizer = Tokenizer(data)
    format = fim_format(name, tokenizer)
    prompt = PromptBuilder(tokenizer, format).build(CompletionInput("ab", "cd", mode="block"))
    parts = {"P": tokenizer.encode("ab"), "S": tokenizer.encode_infilling("cd")}
    expected = [parts.get(word) or [tokenizer.token_id(word)] for word in order.split()]
    assert prompt.token_ids == [id for part in expected for id in part]
    assert None not in prompt.token_ids
    assert format.specials == sum(len(word) > 1 for word in order.split())


@pytest.mark.parametrize("name", FAMILIES)
def test_a_lacking_sentinel_is_refused(name: str) -> None:
    """Each sentinel that a format needs is asked of the tokenizer, and its lack is told by name."""
    _, data, order = FAMILIES[name]
    for missing in [word for word in order.split() if len(word) > 1]:
        added = [token for token in data["added_tokens"] if token["content"] != missing]
        model = data["model"] | {
            "vocab": {piece: id for piece, id in data["model"]["vocab"].items() if piece != missing},
            "merges": [merge for merge in data["model"]["merges"] if "".join(merge) != missing],
        }
        tokenizer = Tokenizer(data | {"added_tokens": added, "model": model})
        with pytest.raises(ConfigError) as error:
            fim_format(name, tokenizer)
        assert missing in str(error.value)
        assert name in str(error.value)


@pytest.mark.parametrize(
    "name", sorted(set(FIM_FORMATS) - {"codellama-spm", "codellama-psm"} - {"codestral"})
)
def test_codellama_tokenizer_is_refused_by_other_families(tokenizer: Tokenizer, name: str) -> None:
    """A format of another family cannot be used by mistake."""
    with pytest.raises(ConfigError, match="the tokenizer has no"):
        fim_format(name, tokenizer)


def test_an_unknown_format_is_refused(tokenizer: Tokenizer) -> None:
    """The message lists the formats there are."""
    with pytest.raises(ConfigError, match="unknown FIM format 'gpt': one of codellama-spm, "):
        fim_format("gpt", tokenizer)


@pytest.mark.parametrize(
    ("name", "stops"),
    [
        ("qwen2.5-coder", ["<|endoftext|>", "<|file_sep|>", "<|repo_name|>", "<|fim_middle|>"]),
        ("starcoder2", ["<|endoftext|>", "<file_sep>", "<repo_name>", "<fim_prefix>"]),
        ("deepseek-coder", ["<｜end▁of▁sentence｜>", "<|EOT|>", "<｜fim▁hole｜>"]),
        ("codestral", ["</s>", "[SUFFIX]", "[PREFIX]", "[MIDDLE]"]),
        ("codegemma", ["<eos>", "<|file_separator|>", "<|fim_prefix|>"]),
    ],
)
def test_what_ends_the_middle(name: str, stops: list[str]) -> None:
    """End of text, file separators and the sentinels themselves end the output."""
    tokenizer = Tokenizer(FAMILIES[name][1])
    assert {tokenizer.token_id(stop) for stop in stops} <= set(fim_format(name, tokenizer).stop_token_ids)


SNIPPETS = [("src/util.py", "def helper():\n    return 1\n"), ("src/other.py", "X = 2\n")]


def context(format: FimFormat, tokenizer: Tokenizer, count: int, **more: object) -> Context:
    arguments = {"path": "src/main.py", "language": "python", "limit": 500} | more
    return format.context(tokenizer, SNIPPETS[:count], **arguments)  # keyword arguments of the tests


def test_codellama_has_snippets_as_comments(tokenizer: Tokenizer) -> None:
    """Other files stand in front of the prefix, with their paths, as comments of the document's language."""
    format = fim_format("codellama-spm", tokenizer)
    builder = PromptBuilder(tokenizer, format)
    prompt = builder.build(CompletionInput("x = ", "\n", "a.py", "python", tuple(SNIPPETS)))
    middle = prompt.token_ids.index(32009)
    assert tokenizer.decode(prompt.token_ids[middle + 1 :]) == (
        "# Path: src/util.py\n# def helper():\n#     return 1\n# Path: src/other.py\n# X = 2\nx = "
    )
    assert prompt.token_ids[:middle] == [1, 32007, 32008, 13]


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("html", "<!-- X = 2 -->"),
        ("css", "/* X = 2 */"),
        ("lua", "-- X = 2"),
        ("go", "// X = 2"),
        ("", "// X = 2"),
    ],
)
def test_comments_are_the_languages(tokenizer: Tokenizer, language: str, line: str) -> None:
    """Comment marks follow the language; those of C where it is unknown."""
    format = fim_format("codellama-spm", tokenizer)
    ids = format.context(tokenizer, SNIPPETS[1:], path="", language=language, limit=100).header
    assert tokenizer.decode(ids).splitlines()[1] == line


def test_qwen_has_snippets_as_files() -> None:
    """Repository level: name, then each file behind a separator with its path, the document's last."""
    tokenizer = Tokenizer(FAMILIES["qwen2.5-coder"][1])
    builder = PromptBuilder(tokenizer, fim_format("qwen2.5-coder", tokenizer))
    prompt = builder.build(CompletionInput("x = ", "\n", "src/main.py", "python", tuple(SNIPPETS)))
    assert show(tokenizer, QWEN, prompt.token_ids) == (
        "⟨<|repo_name|>⟩repository\n"
        "⟨<|file_sep|>⟩src/util.py\ndef helper():\n    return 1\n\n"
        "⟨<|file_sep|>⟩src/other.py\nX = 2\n\n"
        "⟨<|file_sep|>⟩src/main.py\n⟨<|fim_prefix|>⟩x = ⟨<|fim_suffix|>⟩\n⟨<|fim_middle|>⟩"
    )


def test_starcoder_has_snippets_as_files() -> None:
    """Files behind separators; the document's path follows the prefix sentinel, as published."""
    tokenizer = Tokenizer(FAMILIES["starcoder2"][1])
    builder = PromptBuilder(tokenizer, fim_format("starcoder2", tokenizer))
    prompt = builder.build(CompletionInput("x = ", "\n", "src/main.py", "python", tuple(SNIPPETS[1:])))
    assert show(tokenizer, STARCODER, prompt.token_ids) == (
        "⟨<file_sep>⟩src/other.py\nX = 2\n"
        "⟨<file_sep>⟩⟨<fim_prefix>⟩src/main.py\nx = ⟨<fim_suffix>⟩\n⟨<fim_middle>⟩"
    )


@pytest.mark.parametrize("name", ["qwen2.5-coder", "starcoder2", "deepseek-coder", "codestral", "codegemma"])
def test_snippets_are_whole_in_order_and_append_only(name: str) -> None:
    """One more snippet leaves the ids of those before it; the first that does not fit ends the list."""
    tokenizer = Tokenizer(FAMILIES[name][1])
    format = fim_format(name, tokenizer)
    one, two = context(format, tokenizer, 1), context(format, tokenizer, 2)
    separator = {"qwen2.5-coder": "<|file_sep|>", "starcoder2": "<file_sep>"}.get(name)
    if separator:
        last = len(one.files) - one.files[::-1].index(tokenizer.token_id(separator)) - 1
        assert two.files[: last + 1] == one.files[: last + 1]  # behind it comes the document
    else:
        assert two.header[: len(one.header)] == one.header
    assert len(two) > len(one)
    assert context(format, tokenizer, 2, limit=len(two)) == two
    assert context(format, tokenizer, 2, limit=len(two) - 1) == one
    assert len(context(format, tokenizer, 2, limit=5)) == 0
