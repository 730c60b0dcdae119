"""What goes along with a completion from other files, in an order that lasts.

For each document there is a list of snippets, made in the background and kept while one works in the
document, so that the prompt's beginning stays the same and the server's KV cache holds. A new list keeps what
has not changed in its old order and appends the rest. It comes into use when the cursor rests: the server can
read it then before the next key.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from codeserve.protocol import Snippet
from codeserve_lsp.collect import Collector, Job, Piece, Source
from codeserve_lsp.declarations import MAX_CHARS
from codeserve_lsp.documents import Document, Documents, file_path
from codeserve_lsp.parsing import QUIET_S, Foreground
from codeserve_lsp.privacy import FRESH_S, Privacy
from codeserve_lsp.resolve import language_of
from codeserve_lsp.settings import Settings
from codeserve_lsp.worker import Worker

__all__ = ["Context", "arrange"]

# A list is made anew at most this often while one works in its document.
RENEW_S = 20.0
# A new list waits this long for the cursor to rest.
PATIENCE_S = 60.0
MAX_OPEN = 8
# How much of a document is looked at for imports.
IMPORT_CHARS = 20_000
KEPT_DOCUMENTS = 64
# Code has at least this many.
CHARS_A_TOKEN = 2.5

_log = logging.getLogger(__name__)


def arrange(old: list[Piece], new: list[Piece]) -> list[Piece]:
    """``new`` in the order of ``old`` where it has not changed, the rest behind it."""
    unchanged = [piece for piece in old if piece in new]
    return unchanged + [piece for piece in new if piece not in unchanged]


def _paths(uris: Iterable[str]) -> list[Path]:
    return [path for path in map(file_path, uris) if path is not None]


class Context:
    """The snippets of each document, and the rules on what may be in them."""

    def __init__(self, documents: Documents) -> None:
        self.privacy = Privacy()
        self.foreground = Foreground()
        self._documents = documents
        self._settings = Settings()
        self._tokens: int | None = None  # of a prompt that the server gives to snippets; None: not known yet
        self._waiting: set[str] = set()  # documents whose lists are made once that is known
        self._worker = Worker()
        self._turn = asyncio.Lock()  # one list is made at a time: what others need is not held meanwhile
        self._collector = self._new_collector()
        self._lists: dict[str, list[Piece]] = {}  # in use
        self._next: dict[str, list[Piece]] = {}  # to come into use
        self._made: dict[str, float] = {}  # when, by document; also while one is being made
        self._tasks: dict[str, asyncio.Task[None]] = {}  # that make a list, by document
        self._looked = 0.0  # when the disk was looked at ahead of the requests
        self._looking: asyncio.Task[None] | None = None

    def set_folders(self, uris: Iterable[str]) -> None:
        """The folders of the workspace, as URIs; those that are not files do not count."""
        self.privacy.folders = []
        self.change_folders([], uris)

    def change_folders(self, removed: Iterable[str], added: Iterable[str]) -> None:
        """Some folders of the workspace go and others come; one that does both has got another name."""
        gone = _paths(removed)
        kept = (folder for folder in self.privacy.folders if folder not in gone)
        self.privacy.folders = list(dict.fromkeys([*kept, *_paths(added)]))
        self._forget()

    def configure(self, settings: Settings) -> None:
        if settings != self._settings:
            self._settings = settings
            self.privacy.max_bytes = settings.max_file_bytes
            self._forget()

    def set_room(self, tokens: int) -> None:
        """How many tokens of snippets the server takes: what is beyond that is left out there."""
        before, self._tokens = self.budget, tokens
        if self.budget != before:
            self._drop_lists()  # what was read of files serves the new ones
        waiting, self._waiting = self._waiting, set()
        for uri in waiting:
            self._renew(uri)

    def _forget(self) -> None:
        self.privacy.forget()
        self._collector.stop()
        self._collector = self._new_collector()
        self._drop_lists()

    def _new_collector(self) -> Collector:
        return Collector(self.privacy.refuses, self.shown_path, self.foreground)

    def _drop_lists(self) -> None:
        self._lists.clear()
        self._next.clear()
        self._made.clear()

    @property
    def budget(self) -> int:
        """Characters of all snippets of a document; 0 until the server has said how much it takes."""
        return min(self._settings.context_chars, int((self._tokens or 0) * CHARS_A_TOKEN))

    def refuses(self, uri: str, size: int) -> bool:
        """Whether a document must not leave this machine."""
        refused = self.privacy.refuses(uri, size)
        if self._looking is None and time.monotonic() - self._looked > FRESH_S / 2:
            self._looking = asyncio.create_task(self._look(uri))
        return refused

    async def _look(self, uri: str) -> None:
        """Look at the disk for what the next request will ask, beside the event loop and before its time."""
        try:
            await asyncio.sleep(QUIET_S)  # the keystroke at hand goes first
            uris = [uri, *(piece.uri for piece in self._lists.get(uri, []))]
            refuses = functools.partial(self.privacy.refuses, fresh_s=FRESH_S / 2)
            await self._worker.run(lambda: [refuses(each) for each in uris])
        finally:
            self._looked, self._looking = time.monotonic(), None

    def shown_path(self, path: Path) -> str:
        """A path as the server gets it: below its workspace folder, else the file's name alone."""
        for folder in sorted(self.privacy.folders, key=lambda each: -len(each.parts)):
            if path.is_relative_to(folder):
                return str(path.relative_to(folder))
        return path.name

    def opened(self, uri: str) -> None:
        """Have the snippets ready for the first keystroke."""
        self.closed(uri)
        self._renew(uri)

    def closed(self, uri: str) -> None:
        for kept in (self._lists, self._next, self._made):
            kept.pop(uri, None)
        self._waiting.discard(uri)

    def snippets(self, uri: str) -> list[Snippet]:
        """What goes along with a completion in this document. Never waits: a new list serves a later one."""
        self._renew(uri)
        if uri in self._next and time.monotonic() - self._made.get(uri, 0.0) > PATIENCE_S:
            self.rested(uri)
        pieces = self._lists.get(uri, [])
        # what has been ruled out since the list was made stays here from now on
        return [piece.snippet for piece in pieces if not self.privacy.refuses(piece.uri)]

    def rested(self, uri: str) -> bool:
        """Take the new list into use, if there is one: nobody is typing in the document just now."""
        if uri not in self._next:
            return False
        self._lists[uri] = self._next.pop(uri)
        return True

    def _renew(self, uri: str) -> None:
        if self._tokens is None:
            self._waiting.add(uri)
            return
        now = time.monotonic()
        if now - self._made.get(uri, -RENEW_S) < RENEW_S or self.budget == 0 or uri in self._next:
            return
        if uri in self._tasks:  # on a file system that does not answer, one waits and no more
            return
        document = self._documents.get(uri)
        if document is None or document.path is None:
            return
        self._made[uri] = now
        if len(self._made) > KEPT_DOCUMENTS:
            self.closed(min(self._made, key=self._made.__getitem__))
        task = asyncio.create_task(self._make(uri))
        self._tasks[uri] = task
        task.add_done_callback(lambda _: self._tasks.pop(uri, None))

    def _job(self, document: Document, path: Path) -> Job:
        head = ""
        if self._settings.imports:
            head = document.head(IMPORT_CHARS)[:IMPORT_CHARS]
        return Job(
            path=path,
            language=language_of(path, document.language),
            head=head,
            opened=list(self._open(document.uri)) if self._settings.open_files else [],
            folders=list(self.privacy.folders),
            budget=self.budget,
        )

    def _open(self, uri: str) -> Iterator[Source]:
        """The other open files, the last edited first."""
        others = sorted(self._documents, key=lambda each: -each.edited)
        for other in itertools.islice((o for o in others if o.uri != uri and o.path), MAX_OPEN):
            if other.path is not None and other.size <= self.privacy.max_bytes:
                language = language_of(other.path, other.language)
                yield Source(other.uri, other.path, language, other.head(MAX_CHARS))

    async def _make(self, uri: str) -> None:
        async with self._turn:
            await asyncio.sleep(QUIET_S)  # the keystroke at hand goes first
            document, collector = self._documents.get(uri), self._collector
            if document is None or document.path is None:
                return
            job = self._job(document, document.path)
            try:
                new = await self._worker.run(lambda: collector.collect(job))
            except Exception as exc:
                _log.error("the context of a document cannot be made: %s", type(exc).__name__)
                return
        if self._documents.get(uri) is None or collector is not self._collector or job.budget != self.budget:
            return
        old = self._lists.get(uri)
        arranged = arrange(old or [], new)
        if old is None:
            self._lists[uri] = arranged
        elif arranged != old:
            self._next[uri] = arranged
