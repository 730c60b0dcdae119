"""Examples are what the server sends, with the middle behind it."""

from pathlib import Path

import numpy as np
import pytest

from codeserve.completion.fim import fim_format
from codeserve.completion.prompt import CompletionInput, PromptBuilder
from codeserve.completion.tokens import Tokenizer
from training.corpus import Corpus
from training.cursors import draw_split
from training.examples import IDS, Example, Sampler

LINES = [
    "def f(first, second):\n",
    "    total = first + second\n",
    "    if total:\n",
    "        return 1\n",
    "\n",
    "x = 2\n",
]


@pytest.fixture(scope="module")
def tokenizer(tokenizer_folder: Path) -> Tokenizer:
    return Tokenizer.load(tokenizer_folder)


def _draw(corpus: Corpus, tokenizer: Tokenizer, room: int, count: int) -> list[Example]:
    random = np.random.default_rng(7)
    sampler = Sampler(corpus, tokenizer)
    tokens = random.integers(0, corpus.tokens, count)
    return [example for token in tokens if (example := sampler.draw(int(token), room, random)) is not None]


def test_prompts_are_the_servers(corpus: Corpus, tokenizer: Tokenizer) -> None:
    """For the same prefix and suffix the server builds the same ids, in both orders."""
    compared = {"codellama-spm": 0, "codellama-psm": 0}
    for example in _draw(corpus, tokenizer, 360, 300):
        ids = example.ids
        if IDS.middle not in ids:
            continue
        prompt = ids[: len(ids) - example.middle]
        suffix_first = prompt[2] == IDS.suffix
        cut = prompt.index(IDS.middle) if suffix_first else prompt.index(IDS.suffix)
        first, second = (
            (prompt[3:cut], prompt[cut + 1 :]) if suffix_first else (prompt[2:cut], prompt[cut + 1 : -1])
        )
        suffix, prefix = (first, second) if suffix_first else (second, first)
        before = tokenizer.decode(prefix)
        after = tokenizer.decode_infilling(suffix)
        if not after.endswith("\n"):
            continue  # cut within a line, for want of room
        name = "codellama-spm" if suffix_first else "codellama-psm"
        builder = PromptBuilder(tokenizer, fim_format(name, tokenizer))
        assert builder.build(CompletionInput(prefix=before, suffix=after)).token_ids == prompt
        compared[name] += 1
    assert compared["codellama-spm"] > 50
    assert compared["codellama-psm"] > 10


def test_the_text_is_whole_around_the_cursor(corpus: Corpus, tokenizer: Tokenizer) -> None:
    """Prefix, middle and suffix put together are a piece of a source file."""
    texts = [tokenizer.decode_infilling(shard.ids.tolist()) for shard in corpus.shards]
    whole = 0
    for example in _draw(corpus, tokenizer, 360, 200):
        ids = example.ids
        if ids[2] != IDS.suffix:
            continue
        cut = ids.index(IDS.middle)
        suffix = tokenizer.decode_infilling(ids[3:cut])
        prefix = tokenizer.decode_infilling(ids[cut + 1 : -example.middle]).removeprefix(" ")
        middle = tokenizer.decode_infilling(ids[-example.middle : -1])
        assert any(prefix + middle in text for text in texts)
        whole += suffix != "\n" and any(prefix + middle + suffix in text for text in texts)
    assert whole > 80


def test_the_file_ends_behind_whole_lines_only(corpus: Corpus, tokenizer: Tokenizer) -> None:
    """Some examples are at the end of a file, but never where a line goes on behind the middle."""
    sampler, shard = Sampler(corpus, tokenizer), corpus.shards[0]
    random = np.random.default_rng(0)
    end = int(shard.documents[1])
    ended = {
        after: sum(
            tokenizer.decode_infilling(sampler._suffix(shard, 1, end, after, 200, random)) == "\n"
            for _ in range(300)
        )
        for after in ("\n", "()\n")
    }
    assert ended["()\n"] == 0
    assert 10 < ended["\n"] < 60


def test_room_is_kept(corpus: Corpus, tokenizer: Tokenizer) -> None:
    """No example is longer than asked, and each has a weight for every id."""
    for room in (64, 130, 500, 2000):
        for example in _draw(corpus, tokenizer, room, 100):
            assert len(example.ids) == len(example.weights) <= room


def test_only_text_is_learned(corpus: Corpus, tokenizer: Tokenizer) -> None:
    """Where the text is cut and what other files say has no weight; the middle's end has."""
    for example in _draw(corpus, tokenizer, 800, 100):
        for id, weight in zip(example.ids, example.weights, strict=True):
            if id in (IDS.bos, IDS.prefix, IDS.suffix, IDS.middle):
                assert weight == 0
        if IDS.middle in example.ids:
            assert example.ids[-1] == IDS.end
            assert example.weights[-1] > 1


def test_snippets_are_the_servers(corpus: Corpus, tokenizer: Tokenizer) -> None:
    """A snippet of another file is written as the server writes it."""
    sampler = Sampler(corpus, tokenizer)
    shard = corpus.shards[0]
    first, last = int(shard.documents[1]), int(shard.documents[1]) + 9
    text = tokenizer.decode_infilling(shard.span(first, last))
    ours = tokenizer.encode(sampler._render(shard, 1, first, last, outline=False))
    served = fim_format("codellama-spm", tokenizer).context(
        tokenizer, [(shard.paths[1], text)], path="a.py", language="python", limit=900
    )
    assert ours == served.header


def test_other_files_stand_in_front(corpus: Corpus, tokenizer: Tokenizer) -> None:
    """With room for it some examples have snippets, in front of the prefix and without weight."""
    found = 0
    for example in _draw(corpus, tokenizer, 1500, 100):
        at = example.ids.index(IDS.middle) if IDS.middle in example.ids else -1
        header = example.ids[at + 1 : at + 8]
        if at > 0 and tokenizer.decode(header).startswith("# Path: p"):
            found += 1
            assert example.weights[at + 1] == 0
    assert found > 5


def test_a_line_with_its_indentation_comes_with_and_without_its_end() -> None:
    """Cursors at the very start of a line: the middle takes the line's end with it, or leaves it."""
    random = np.random.default_rng(4)
    splits = [draw_split(LINES[1:], 0, random) for _ in range(2000)]
    ends = {split.end for split in splits if split.start == (0, 0)}
    assert {(0, len(LINES[1]) - 1), (1, 0)} <= ends


def test_cursors_are_within_the_text() -> None:
    """Every split is in order and inside its lines, and all kinds of places come up."""
    random = np.random.default_rng(3)
    starts, ends = set(), set()
    for _ in range(500):
        split = draw_split(LINES, 1, random)
        assert split.start <= split.end <= (len(LINES), 0)
        assert split.start[0] == 1
        starts.add(split.start[1])
        ends.add(split.end)
    line = LINES[1].rstrip("\n")
    assert {0, 4, len(line)} <= starts  # the line's start, its indentation, its end
    assert {(1, len(line)), (2, 0), (3, 16)} <= ends  # the line's end, with its newline, the block's end
