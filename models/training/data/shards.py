"""Text shards: files of JSON lines, compressed with xz, each small enough to be carried about.

A line is one source file: ``{"package": …, "path": …, "language": …, "text": …}``. A package's files stand
together.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Document", "ShardWriter", "read_shard", "shard_paths"]

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 3, "dict_size": 1 << 24}]


@dataclass(frozen=True)
class Document:
    """One source file."""

    package: str
    path: str
    language: str
    text: str


class ShardWriter:
    """Writes shards of ``shard_bytes`` of text each, one at a time: ``NAME-000.jsonl.xz`` and so on."""

    def __init__(self, folder: Path, name: str, shard_bytes: int) -> None:
        self._folder = folder
        self._name = name
        self._shard_bytes = shard_bytes
        self._lines: list[bytes] = []
        self._size = 0
        self.paths: list[Path] = []

    def add(self, document: Document) -> None:
        line = json.dumps(asdict(document), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        self._lines.append(line)
        self._size += len(line)
        if self._size >= self._shard_bytes:
            self.flush()

    def flush(self) -> None:
        """Write what has been added as a shard."""
        if self._lines:
            path = self._folder / f"{self._name}-{len(self.paths):03}.jsonl.xz"
            path.write_bytes(lzma.compress(b"".join(self._lines), format=lzma.FORMAT_XZ, filters=_FILTERS))
            self.paths.append(path)
            self._lines, self._size = [], 0


def shard_paths(folder: Path) -> list[Path]:
    """The shards of a folder, in their order."""
    return sorted(folder.glob("*.jsonl.xz"))


def read_shard(path: Path) -> Iterator[Document]:
    """The documents of a shard, in their order."""
    with lzma.open(path) as file:
        for line in file:
            yield Document(**json.loads(line))
