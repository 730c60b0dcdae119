"""Tokenised shards give back the text, and find their way from a token to its line, file and package."""

from pathlib import Path

from codeserve.completion.tokens import Tokenizer
from training.corpus import Corpus, tokenise
from training.data.shards import read_shard, shard_paths


def test_text_comes_back(data: Path, corpus: Corpus, tokenizer_folder: Path) -> None:
    """The ids of each document are those of its text, and in the shard's order."""
    tokenizer = Tokenizer.load(tokenizer_folder)
    documents = [list(read_shard(path)) for path in shard_paths(data) if path.name.startswith("train")]
    assert len(documents) == len(corpus.shards) > 1
    for shard, expected in zip(corpus.shards, documents, strict=True):
        for number, document in enumerate(expected):
            ids = shard.span(int(shard.documents[number]), int(shard.documents[number + 1]))
            assert ids == tokenizer.encode_infilling(document.text)
            assert shard.paths[number] == document.path


def test_places(corpus: Corpus) -> None:
    """Every token is found in the document and line that hold it."""
    seen = 0
    for shard in corpus.shards:
        for token in (0, len(shard.ids) // 2, len(shard.ids) - 1):
            assert corpus.at(seen + token) == (shard, token)
            line, document = shard.line_at(token), shard.document_at(token)
            assert shard.lines[line] <= token < shard.lines[line + 1]
            assert shard.documents[document] <= line < shard.documents[document + 1]
        seen += len(shard.ids)
    assert corpus.tokens == seen


def test_siblings_are_of_the_same_package(corpus: Corpus) -> None:
    """Snippets come from the files of one package only."""
    for shard in corpus.shards:
        for document, path in enumerate(shard.paths):
            files = shard.siblings(document)
            assert document in files
            assert {shard.paths[other].partition("/")[0] for other in files} == {path.partition("/")[0]}


def test_done_shards_are_not_done_again(data: Path, corpus: Corpus, tokenizer_folder: Path) -> None:
    """A second call finds all shards there."""
    said: list[str] = []
    assert tokenise(data, data / "tokenised", tokenizer_folder, 1, said.append).tokens == corpus.tokens
    assert said == []
