"""Tokenised shards give back the text, and find their way from a token to its line, file and package."""

import shutil
from pathlib import Path

import pytest

from codeserve.completion.tokens import Tokenizer
from tests.training.conftest import write_manifest
from training.corpus import Corpus, tokenise
from training.data.packages import DataError
from training.data.shards import Document, ShardWriter, read_shard, shard_paths


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


def _paths(corpus: Corpus) -> list[list[str]]:
    return [shard.paths for shard in corpus.shards]


def test_changed_and_removed_shards(tmp_path: Path, tokenizer_folder: Path) -> None:
    """A shard whose text or tokenizer is another is tokenised anew; one that is gone is no longer read."""
    tokenizer = tmp_path / "tokenizer"
    shutil.copytree(tokenizer_folder, tokenizer, ignore=shutil.ignore_patterns("*.safetensors"))
    data, out, said = tmp_path / "data", tmp_path / "tokenised", list[str]()
    data.mkdir()

    def write(*names: str) -> None:
        for shard in shard_paths(data):
            shard.unlink()
        writer = ShardWriter(data, "train", 1)
        for name in names:
            writer.add(Document("pypi:p", name, "python", f"value = '{name}'\n"))
        write_manifest(data)

    def tokenised() -> list[list[str]]:
        said.clear()
        return _paths(tokenise(data, out, tokenizer, 1, said.append))

    write("a", "b", "c")
    assert (tokenised(), len(said)) == ([["a"], ["b"], ["c"]], 3)
    write("a", "changed", "c")
    assert (tokenised(), len(said)) == ([["a"], ["changed"], ["c"]], 1)
    write("a")
    assert (tokenised(), len(said)) == ([["a"]], 0)
    assert _paths(Corpus(out)) == [["a"]]
    vocabulary = tokenizer / "tokenizer.json"
    vocabulary.write_bytes(vocabulary.read_bytes() + b"\n")
    assert (tokenised(), len(said)) == ([["a"]], 1)


@pytest.mark.parametrize("name", ["train", "validation"])
@pytest.mark.parametrize("change", ["other", "missing", "new"])
def test_shards_are_those_of_the_manifest(
    data: Path, tokenizer_folder: Path, tmp_path: Path, name: str, change: str
) -> None:
    """A shard that the manifest states otherwise, or not at all, or that is not there, is named."""
    for path in [*shard_paths(data), data / "manifest.json"]:
        shutil.copy(path, tmp_path)
    shard = tmp_path / f"{name}-000.jsonl.xz"
    match change:
        case "other":
            shard.write_bytes(shard.read_bytes() + b"\0")
        case "missing":
            shard.unlink()
        case _:
            shard = shard.rename(tmp_path / f"{name}-099.jsonl.xz")
            shutil.copy(data / f"{name}-000.jsonl.xz", tmp_path)
    with pytest.raises(DataError, match=shard.name):
        tokenise(tmp_path, tmp_path / "out", tokenizer_folder, 1, lambda text: None, name)


@pytest.mark.parametrize(
    ("content", "told"), [(None, "no .*manifest"), ("[]", "not what"), ("{", "not what")]
)
def test_without_a_manifest(
    data: Path, tokenizer_folder: Path, tmp_path: Path, content: str | None, told: str
) -> None:
    """Shards that no manifest states are refused, and the manifest is asked for."""
    shutil.copy(shard_paths(data)[0], tmp_path)
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(DataError, match=told):
        tokenise(tmp_path, tmp_path / "out", tokenizer_folder, 1, lambda text: None)
