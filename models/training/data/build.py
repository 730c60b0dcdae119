"""The `data` command: from the lists to shards and a manifest.

Archives are read by worker processes, one each; the order of the list decides which of two near-duplicates
stays, so that the same lists give the same shards.
"""

from __future__ import annotations

import gc
import gzip
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path

from training.data.dedup import Deduplicator, Signature, signature
from training.data.fetch import archive_of, fetch, file_sha256
from training.data.filters import is_written_code
from training.data.licences import copyleft_header, is_permissive
from training.data.overlap import Reserved, line_hashes, runs
from training.data.packages import DataError, Package, load_packages
from training.data.secrets import scrub
from training.data.shards import Document, ShardWriter, shard_paths
from training.data.sources import LANGUAGES, Contents, read_archive

__all__ = ["Options", "build"]

_VALIDATION_BYTES = 3_000_000
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Options:
    """What to build. Folders are made when they do not exist."""

    packages: Path
    held_out: Path
    evaluations: tuple[Path, ...]  # gzipped JSON lines of infilling problems
    cache: Path  # of archives
    out: Path
    workers: int = 2
    package_bytes: int = 3_000_000  # at most from one package, lest it sets the style
    shard_bytes: int = 32_000_000  # of text; about a seventh once compressed


@dataclass
class _Kept:
    """What one archive gave."""

    documents: list[tuple[Document, Signature]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


_reserved: Reserved  # of a worker process


def _start_worker(reserved: Reserved) -> None:
    global _reserved
    gc.disable()  # a worker makes no cycles to speak of; collecting takes a third of the time
    _reserved = reserved


def _read(job: tuple[Package, Path], package_bytes: int) -> _Kept:
    package, path = job
    kept = _Kept()
    contents = _contents(package, path)
    if not is_permissive(contents.licence):
        raise DataError(
            f"{package.id} {package.version} is not under a permissive licence: take it off the list"
        )
    left = package_bytes
    # In an order of no meaning, for those that are over the limit.
    for name, text in sorted(contents.files, key=lambda each: blake2b(each[0].encode()).digest()):
        suffix = "." + name.rpartition(".")[2]
        reason = "over the package's limit" if left < len(text) else _refuse(text, LANGUAGES[suffix])
        if reason is not None:
            kept.dropped[reason] += 1
            continue
        text, scrubbed = scrub(text)
        kept.dropped["(secrets and addresses replaced)"] += scrubbed
        hashes, lengths = line_hashes(text)
        if _reserved.forbids(runs(hashes, lengths)):
            kept.dropped["evaluation or held-out content"] += 1
            continue
        left -= len(text)
        kept.documents.append((Document(package.id, name, LANGUAGES[suffix], text), signature(hashes)))
    kept.documents.sort(key=lambda each: each[0].path)
    return kept


def _contents(package: Package, path: Path, *, any_licence: bool = False) -> Contents:
    """What is in a fetched archive, if it still is the listed one: a cache outlives crashes and hands."""
    about = f"{package.id} {package.version}: {path}"
    if file_sha256(path) != package.sha256:
        raise DataError(f"{about} is not what the list says: delete it from the cache and run `data` again")
    try:
        return read_archive(path, any_licence=any_licence)
    except DataError as exc:
        raise DataError(f"{about}: {exc}, and is what the list says: take it off the list") from None


def _refuse(text: str, language: str) -> str | None:
    if copyleft_header(text):
        return "header of another licence"
    return None if is_written_code(text, language) else "generated, data, or of an older Python"


def build(options: Options, say: Callable[[str], None]) -> dict[str, object]:
    """Write the shards; returns the manifest, which is `manifest.json` beside them.

    They are written beside ``out`` and take the place of what is there once all are whole. Raises: DataError
    when a list, a package or a folder cannot be used; what was in ``out`` is then as before.
    """
    begun = time.monotonic()
    packages, held_out = _lists(options)
    listed = file_sha256(options.packages)  # of what is read now: it may be changed meanwhile
    say(f"fetching {len(packages)} packages and {len(held_out)} held-out ones")
    fetch([*packages, *held_out], options.cache)
    say(f"reading them ({time.monotonic() - begun:.0f} s)")
    held_out_files = [document for package in held_out for document in _held_out(package, options.cache)]
    reserved = Reserved(_problems(options.evaluations), (document.text for document in held_out_files))
    out = options.out.resolve()  # a link stays one, and the folder beside is on the same disk
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a build that was killed
    part.mkdir(parents=True)
    try:
        totals = _Totals()
        writer = ShardWriter(part, "train", options.shard_bytes)
        jobs = [(package, archive_of(package, options.cache)) for package in packages]
        with ProcessPoolExecutor(options.workers, initializer=_start_worker, initargs=(reserved,)) as pool:
            read = partial(_read, package_bytes=options.package_bytes)
            for document in _new_ones(pool.map(read, jobs), totals):
                writer.add(document)
        writer.flush()
        validation = ShardWriter(part, "validation", options.shard_bytes)
        for document in _sample(held_out_files, _VALIDATION_BYTES):
            validation.add(document)
        validation.flush()
        manifest = {
            "list": listed,
            "packages": len(packages),
            "held_out_packages": len(held_out),
            "reserved_runs": len(reserved),
            "languages": {
                name: dict(zip(("files", "bytes"), each, strict=True))
                for name, each in sorted(totals.kept.items())
            },
            "dropped_files": dict(sorted(totals.dropped.items())),
            "shards": {path.name: file_sha256(path) for path in writer.paths + validation.paths},
            "seconds": round(time.monotonic() - begun),
        }
        (part / _MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        _replace(part, out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return manifest


def _lists(options: Options) -> tuple[list[Package], list[Package]]:
    """The packages to train on and those to keep out, before anything is fetched or written."""
    packages, held_out = load_packages(options.packages), load_packages(options.held_out)
    if not packages:
        raise DataError(f"{options.packages} names no packages: add some by the list command")
    if options.workers < 1:
        raise DataError(f"{options.workers} workers can read nothing: give --workers 1 or more")
    if options.out.exists() and not options.out.is_dir():
        raise DataError(f"{options.out} is not a folder: name another by --out")
    if clash := {package.id for package in held_out} & {package.id for package in packages}:
        raise DataError(f"held-out packages are on the training list: {', '.join(sorted(clash))}")
    return packages, held_out


def _replace(part: Path, out: Path) -> None:
    """Move shards and manifest to ``out``, which has no manifest until its shards are those of it."""
    out.mkdir(exist_ok=True)
    (out / _MANIFEST).unlink(missing_ok=True)
    for stale in shard_paths(out):
        stale.unlink()
    for path in [*shard_paths(part), part / _MANIFEST]:
        path.replace(out / path.name)


@dataclass
class _Totals:
    kept: dict[str, list[int]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)


def _new_ones(read: Iterable[_Kept], totals: _Totals) -> Iterator[Document]:
    """Documents that are no near-duplicates of earlier ones."""
    seen = Deduplicator()
    for kept in read:
        totals.dropped.update(kept.dropped)
        for document, minima in kept.documents:
            if not seen.is_new(minima):
                totals.dropped["near-duplicate"] += 1
                continue
            count = totals.kept.setdefault(document.language, [0, 0])
            count[0] += 1
            count[1] += len(document.text.encode("utf-8", "surrogatepass"))
            yield document


def _held_out(package: Package, cache: Path) -> Iterator[Document]:
    contents = _contents(package, archive_of(package, cache), any_licence=True)
    for name, text in contents.files:
        yield Document(package.id, name, LANGUAGES["." + name.rpartition(".")[2]], text)


def _sample(documents: list[Document], limit: int) -> Iterator[Document]:
    for document in sorted(documents, key=lambda each: blake2b((each.package + each.path).encode()).digest()):
        limit -= len(document.text)
        if limit < 0:
            return
        if _refuse(document.text, document.language) is None:
            yield document


def _problems(paths: Iterable[Path]) -> Iterator[str]:
    """The texts of evaluation problems: prompt, solution and suffix, and the tests."""
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                problem = json.loads(line)
                yield problem["prompt"] + problem["canonical_solution"] + problem["suffix"]
                yield problem["test"]
