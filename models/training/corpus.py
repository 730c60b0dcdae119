"""The training text as token ids, line by line, in files that many processes map into memory.

Lines are encoded one by one, as the server encodes them, so that a cursor anywhere costs the encoding of
the line it stands in and no more. Ids fit 16 bits: the vocabulary has 32,016.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from codeserve.completion.tokens import Tokenizer
from training.data.fetch import file_sha256
from training.data.packages import DataError
from training.data.shards import Document, read_shard, shard_paths

__all__ = ["Corpus", "Shard", "tokenise", "write_shard"]

_CACHED_CHARS = 200  # longer lines seldom come twice
_CACHE = 2_000_000  # lines
_LIST = "shards.json"  # of a tokenised folder: the names of the shards that were there, in their order


class Shard:
    """One tokenised shard. Tokens, lines and documents are numbered from 0 within it.

    ``ids`` uint16 [tokens]; ``lines`` uint32 [lines + 1], where each line's tokens start; ``documents``
    uint32 [documents + 1], at which line each document starts; ``packages``, the same for packages and
    documents.
    """

    def __init__(self, folder: Path) -> None:
        load = partial(np.load, mmap_mode="r")
        self.ids: npt.NDArray[np.uint16] = load(folder / "ids.npy")
        self.lines: npt.NDArray[np.uint32] = load(folder / "lines.npy")
        self.documents: npt.NDArray[np.uint32] = load(folder / "documents.npy")
        self.packages: npt.NDArray[np.uint32] = load(folder / "packages.npy")
        info = json.loads((folder / "info.json").read_text(encoding="utf-8"))
        self.paths: list[str] = info["paths"]
        self.languages: list[str] = info["languages"]

    def document_at(self, token: int) -> int:
        """The document in which a token is."""
        return int(np.searchsorted(self.documents, self.line_at(token), "right")) - 1

    def line_at(self, token: int) -> int:
        """The line in which a token is."""
        return int(np.searchsorted(self.lines, token, "right")) - 1

    def span(self, first: int, last: int) -> list[int]:
        """The ids of the lines from ``first`` up to but not including ``last``."""
        ids: list[int] = self.ids[self.lines[first] : self.lines[last]].tolist()
        return ids

    def siblings(self, document: int) -> range:
        """The documents of the same package."""
        package = int(np.searchsorted(self.packages, document, "right")) - 1
        return range(int(self.packages[package]), int(self.packages[package + 1]))


class Corpus:
    """The tokenised shards of a folder: those that `tokenise` listed last, or all where it listed none."""

    def __init__(self, folder: Path) -> None:
        if (folder / _LIST).exists():
            folders = [folder / name for name in json.loads((folder / _LIST).read_text(encoding="utf-8"))]
        else:
            folders = sorted(path.parent for path in folder.glob("*/info.json"))
        if not folders:
            raise FileNotFoundError(f"no tokenised shards in {folder}: run the data command, then tokenise")
        self.shards = [Shard(each) for each in folders]
        self._ends = np.cumsum([len(shard.ids) for shard in self.shards])

    @property
    def tokens(self) -> int:
        return int(self._ends[-1])

    def at(self, token: int) -> tuple[Shard, int]:
        """The shard of a token, and its number there."""
        index = int(np.searchsorted(self._ends, token, "right"))
        return self.shards[index], token - (int(self._ends[index - 1]) if index else 0)


def tokenise(
    shards: Path, out: Path, tokenizer: Path, workers: int, say: Callable[[str], None], name: str = "train"
) -> Corpus:
    """Tokenise the text shards ``NAME-*`` of a folder that are not yet in ``out``, or there from another
    text or by another tokenizer, one worker process each. Other shards in ``out`` are no longer read.

    Raises: DataError when the shards are not those that the folder's manifest states.
    """
    paths = [path for path in shard_paths(shards) if path.name.startswith(f"{name}-")]
    hashes = {path.name: file_sha256(path) for path in paths}
    _compare(hashes, _stated(shards / "manifest.json", name), shards)
    vocabulary = file_sha256(tokenizer / "tokenizer.json")
    jobs = [(path, {"shard": hashes[path.name], "tokenizer": vocabulary}) for path in paths]
    missing = [(path, made_of) for path, made_of in jobs if _made_of(_folder(out, path)) != made_of]
    if missing:
        with ProcessPoolExecutor(max(1, min(workers, len(missing)))) as pool:
            for done, count in enumerate(
                pool.map(partial(_tokenise_shard, out=out, tokenizer=tokenizer), missing), 1
            ):
                say(f"tokenised {done} of {len(missing)}: {count / 1e6:.1f} M tokens")
    out.mkdir(parents=True, exist_ok=True)
    (out / _LIST).write_text(json.dumps([_folder(out, path).name for path in paths]), encoding="utf-8")
    return Corpus(out)


def _stated(manifest: Path, name: str) -> dict[str, str]:
    """The SHA-256 of each shard of a name, as `build` wrote them down."""
    try:
        shards = json.loads(manifest.read_text(encoding="utf-8"))["shards"]
        return {shard: str(digest) for shard, digest in shards.items() if shard.startswith(f"{name}-")}
    except FileNotFoundError:
        raise DataError(
            f"no {manifest}, which says what the shards are: carry it over with them, or run the data command"
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataError(f"{manifest} is not what the data command writes: carry it over again") from None


def _compare(found: Mapping[str, str], stated: Mapping[str, str], folder: Path) -> None:
    # The card states the manifest's packages: what was lost or changed on the way is not made up for.
    if wrong := sorted(shard for shard in stated if found.get(shard) != stated[shard]):
        raise DataError(
            f"{', '.join(wrong)} in {folder}: missing, or not what manifest.json states: carry over again"
        )
    if others := sorted(found.keys() - stated.keys()):
        raise DataError(
            f"{', '.join(others)} in {folder}: not in manifest.json: delete, or run the data command"
        )


def _folder(out: Path, path: Path) -> Path:
    return out / path.name.partition(".")[0]


def _made_of(folder: Path) -> object:
    try:
        return json.loads((folder / "info.json").read_text(encoding="utf-8")).get("made_of")
    except FileNotFoundError:
        return None


def _tokenise_shard(job: tuple[Path, Mapping[str, str]], out: Path, tokenizer: Path) -> int:
    path, made_of = job
    return write_shard(read_shard(path), _folder(out, path), Tokenizer.load(tokenizer), made_of)


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends, which are newlines only."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def write_shard(
    documents: Iterable[Document],
    folder: Path,
    tokenizer: Tokenizer,
    made_of: Mapping[str, str] | None = None,
) -> int:
    """Write one shard; returns how many tokens it has. ``made_of``: SHA-256 of the text shard (`shard`) and
    of the tokenizer's file (`tokenizer`), by which it is known to be up to date.
    """
    cache: dict[str, list[int]] = {}
    encode = tokenizer.encode_infilling
    ids: list[npt.NDArray[np.uint16]] = []
    lengths: list[int] = []
    starts, packages = [0], [0]
    paths: list[str] = []
    languages: list[str] = []
    package = None
    for document in documents:
        if package not in (None, document.package):
            packages.append(len(paths))
        package = document.package
        paths.append(document.path)
        languages.append(document.language)
        flat: list[int] = []
        for line in _lines(document.text):
            found = cache.get(line)
            if found is None:
                found = encode(line)
                if len(line) <= _CACHED_CHARS and len(cache) < _CACHE:
                    cache[line] = found
            flat.extend(found)
            lengths.append(len(found))
        ids.append(np.array(flat, np.uint16))
        starts.append(len(lengths))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "info.json").unlink(missing_ok=True)
    tokens = np.concatenate(ids) if ids else np.empty(0, np.uint16)
    np.save(folder / "ids.npy", tokens)
    np.save(folder / "lines.npy", np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32))
    np.save(folder / "documents.npy", np.array(starts, np.uint32))
    np.save(folder / "packages.npy", np.array([*packages, len(paths)], np.uint32))
    # last, since it says that the shard is whole
    info = {"paths": paths, "languages": languages, "made_of": made_of}
    (folder / "info.json").write_text(json.dumps(info), encoding="utf-8")
    return len(tokens)
