"""What other files say that a completion may need, read from them: runs in a thread of its own."""

from __future__ import annotations

import itertools
import os.path
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path

import attrs

from codeserve.client import open_regular
from codeserve.protocol import Snippet
from codeserve_lsp.declarations import MAX_CHARS, Declaration, declarations, fitting
from codeserve_lsp.imports import Import, imports
from codeserve_lsp.parsing import Foreground, Pace, TooSlow
from codeserve_lsp.resolve import beside, language_of, places
from codeserve_lsp.scan import outline

__all__ = ["Collector", "Job", "Piece", "Source"]

MAX_IMPORTS = 16
# For all that one document needs, and for one file of it.
TOTAL_S = 3.0
FILE_S = 0.5
# No single file may take up more than this share of the budget: few files, many files. A file that is smaller
# than another share goes whole.
FEW = 3
MANY = 8
SMALL = 12
# What is kept of the files that were read: so many, and so many characters in all.
KEPT_FILES = 256
KEPT_CHARS = 4_000_000
# What is kept of a file without a grammar.
SCANNED_CHARS = 20_000


@attrs.frozen
class Source:
    """A file as it stands when the list is made. ``text`` None: read it. ``names``: those asked for."""

    uri: str
    path: Path
    language: str
    text: str | None = attrs.field(default=None, repr=False)
    names: tuple[str, ...] = ()


@attrs.frozen
class Job:
    """A document whose snippets are to be made. ``head`` is what is looked at for imports, "" for none."""

    path: Path
    language: str
    head: str = attrs.field(repr=False)
    opened: list[Source]
    folders: list[Path]
    budget: int


@attrs.frozen
class Piece:
    """A snippet and the file that it is from."""

    uri: str
    snippet: Snippet


# A file's text if it is short, else its declarations.
_Read = str | list[Declaration]


class _Inside:
    """The files below some folders, by where they really are."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]

    def __contains__(self, file: Path) -> bool:
        real = file.resolve()
        return any(real.is_relative_to(folder) for folder in self._folders)


class Collector:
    """Reads and keeps what it has read, by a file's time and size. For one thread.

    ``refuses(uri, size)`` says what must stay here, ``shown(path)`` how a path is written, ``foreground``
    when to rest.
    """

    def __init__(
        self,
        refuses: Callable[[str, int], bool],
        shown: Callable[[Path], str],
        foreground: Foreground | None = None,
    ) -> None:
        self._refuses = refuses
        self._shown = shown
        self._foreground = foreground
        self._stopped = False
        self._kept: OrderedDict[tuple[Path, object, str, int], _Read] = OrderedDict()
        self._size = 0  # of all that is kept

    def stop(self) -> None:
        """Nobody needs what is being collected, from any thread: it ends with the file at hand."""
        self._stopped = True

    def collect(self, job: Job) -> list[Piece]:
        """The pieces for a document: imported files in the order of their imports, then other open ones."""
        pace = Pace(TOTAL_S, self._foreground)
        opened = {source.path: source for source in job.opened}
        imported = dict[Path, Source]()
        try:
            for source in itertools.islice(self._imported(job, opened, pace), MAX_IMPORTS):
                imported.setdefault(source.path, source)
        except TooSlow:
            pass  # those that were found so far
        rest = [source for source in job.opened if source.path not in imported]
        rest.sort(key=lambda source: source.language != job.language)
        sources = [*imported.values(), *rest]
        share = job.budget // (FEW if len(sources) <= FEW else MANY)
        pieces, left = [], job.budget
        for source in sources:
            if self._stopped:
                break
            piece = self._piece(source, share, job.budget // SMALL, pace)
            size = len(piece.snippet.path) + len(piece.snippet.text) if piece is not None else 0
            if piece is not None and size <= left:
                pieces.append(piece)
                left -= size
        return pieces

    def _imported(self, job: Job, opened: dict[Path, Source], pace: Pace) -> Iterator[Source]:
        if not job.head:
            return
        inside = _Inside(job.folders or [job.path.parent])
        for found in imports(job.head, job.language, pace):
            for file in _first(found, job.language, job.path, job.folders, inside):
                if file == job.path:
                    continue
                source = self._source(file, job.language, opened, found.names)
                through = list(self._through(source, job, inside, pace))
                yield from (self._source(each, job.language, opened, found.names) for each in through)
                yield source
        for file in beside(job.language, job.path, job.head):
            if file in inside:
                yield self._source(file, job.language, opened, ())

    @staticmethod
    def _source(file: Path, language: str, opened: dict[Path, Source], names: tuple[str, ...]) -> Source:
        known = opened.get(file)
        if known is not None:
            return attrs.evolve(known, names=names)
        return Source(file.as_uri(), file, language_of(file, language), names=names)

    def _through(self, source: Source, job: Job, inside: _Inside, pace: Pace) -> Iterator[Path]:
        """Where a package's own file (``__init__.py``, ``index.ts``) has the wanted names from."""
        if source.path.stem not in ("__init__", "index", "mod") or not source.names:
            return
        text = self._text(source)
        for found in imports(text, source.language, pace) if text else ():
            if not found.names or set(found.names) & set(source.names):
                for file in _first(found, source.language, source.path, job.folders, inside):
                    if file not in (job.path, source.path):
                        yield file

    def _text(self, source: Source) -> str:
        """A file's text, "" for one that stays here or cannot be read."""
        if self._refuses(source.uri, len(source.text or "")):
            return ""
        if source.text is not None:
            return source.text
        try:
            with TextIOWrapper(open_regular(source.path), encoding="utf-8") as file:
                return file.read(MAX_CHARS)
        except (OSError, UnicodeDecodeError):
            return ""

    def _piece(self, source: Source, share: int, small: int, pace: Pace) -> Piece | None:
        read = self._read(source, small, pace)
        text = read if isinstance(read, str) else fitting(read, share, source.names)
        if not text or self._refuses(source.uri, 0):
            return None
        return Piece(source.uri, Snippet(path=self._shown(source.path), text=text))

    def _read(self, source: Source, small: int, pace: Pace) -> _Read:
        key = source.path, self._stamp(source), source.language, small
        kept = self._kept.get(key)
        if kept is None:
            text = self._text(source).strip()
            if not text:
                return ""
            kept = self._kept[key] = (
                text if len(text) <= small else self._declared(text, source.language, pace)
            )
            self._size += _size(kept)
            while len(self._kept) > KEPT_FILES or self._size > KEPT_CHARS:
                self._size -= _size(self._kept.popitem(last=False)[1])
            return kept
        self._kept.move_to_end(key)
        return kept

    @staticmethod
    def _stamp(source: Source) -> object:
        if source.text is not None:
            return hash(source.text)
        try:
            stat = source.path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def _declared(self, text: str, language: str, pace: Pace) -> list[Declaration]:
        try:
            pace()
            found = declarations(text, language, Pace(FILE_S, self._foreground))
        except TooSlow:
            found = None
        if found is None:
            found = [Declaration("", outline(text, language, SCANNED_CHARS).split("\n"))]
        return found


def _size(read: _Read) -> int:
    """Characters of what was read of a file."""
    return len(read) if isinstance(read, str) else sum(each.size for each in read)


def _first(
    found: Import, language: str, path: Path, folders: Sequence[Path], inside: _Inside
) -> Iterator[Path]:
    """The files that an import means: of each of its places the first that is there."""
    for alternatives in places(found, language, path, folders):
        for each in alternatives:
            try:
                file = Path(os.path.normpath(each))
                if file.is_file():
                    if file in inside:
                        yield file
                    break
            except (OSError, RuntimeError):
                continue
