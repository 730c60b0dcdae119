"""What other files say that a completion may need: parts of open files, declarations of imported ones.

For each document there is a list of snippets, made in the background and kept while one works in the
document, so that the prompt's beginning stays the same and the server's KV cache holds. A new list keeps what
has not changed in its old order and appends the rest.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from codeserve.protocol import Snippet
from codeserve_lsp.documents import Documents, file_path
from codeserve_lsp.outline import imported_files, outline
from codeserve_lsp.privacy import Privacy
from codeserve_lsp.settings import Settings

__all__ = ["Context", "Piece", "arrange"]

# A list is made anew at most this often while one works in its document.
RENEW_S = 30.0
# No single file may take up more than this share of the budget.
SHARE = 3
MAX_OPEN = 8
MAX_IMPORTS = 16
# How much of a document is looked at for imports.
IMPORT_CHARS = 20_000
KEPT_DOCUMENTS = 64

_log = logging.getLogger(__name__)


@attrs.frozen
class _Source:
    """A file as it stood when the list was asked for. ``text`` None: read it."""

    uri: str
    path: Path
    language: str
    text: str | None = attrs.field(default=None, repr=False)


@attrs.frozen
class Piece:
    """A snippet and the file that it is from."""

    uri: str
    snippet: Snippet


def arrange(old: list[Piece], new: list[Piece], budget: int) -> list[Piece]:
    """``new`` in the order of ``old`` where it has not changed, the rest behind it, in ``budget`` characters.

    Over the budget the front is dropped down to half of it, so that the order holds for a while again.
    """
    unchanged = [piece for piece in old if piece in new]
    whole = unchanged + [piece for piece in new if piece not in unchanged]
    sizes = [len(piece.snippet.text) + len(piece.snippet.path) for piece in whole]
    if sum(sizes) <= budget:
        return whole
    left = sum(sizes)
    while whole and left > budget // 2:
        left -= sizes.pop(0)
        whole.pop(0)
    return whole


class Context:
    """The snippets of each document, and the rules on what may be in them."""

    def __init__(self, documents: Documents) -> None:
        self.privacy = Privacy()
        self._documents = documents
        self._settings = Settings()
        self._lists: dict[str, list[Piece]] = {}
        self._made: dict[str, float] = {}  # when, by document; also while one is being made
        self._tasks: set[asyncio.Task[None]] = set()

    def set_folders(self, uris: Iterable[str]) -> None:
        """The folders of the workspace, as URIs; those that are not files do not count."""
        self.privacy.folders = [path for path in map(file_path, uris) if path is not None]
        self._forget()

    def configure(self, settings: Settings) -> None:
        self._settings = settings
        self.privacy.max_bytes = settings.max_file_bytes
        self._forget()

    def _forget(self) -> None:
        self.privacy.forget()
        self._lists.clear()
        self._made.clear()

    def refuses(self, uri: str, size: int) -> bool:
        """Whether a document must not leave this machine."""
        return self.privacy.refuses(uri, size)

    def shown_path(self, path: Path) -> str:
        """A path as the server gets it: below its workspace folder, else the file's name alone."""
        for folder in sorted(self.privacy.folders, key=lambda each: -len(each.parts)):
            if path.is_relative_to(folder):
                return str(path.relative_to(folder))
        return path.name

    def opened(self, uri: str) -> None:
        """Have the snippets ready for the first keystroke."""
        self._made.pop(uri, None)
        self._renew(uri)

    def snippets(self, uri: str) -> list[Snippet]:
        """What goes along with a completion in this document. Never waits: a new list serves the next one."""
        self._renew(uri)
        pieces = self._lists.get(uri, [])
        # what has been ruled out since the list was made stays here from now on
        return [piece.snippet for piece in pieces if not self.privacy.refuses(piece.uri)]

    def _renew(self, uri: str) -> None:
        now = time.monotonic()
        if now - self._made.get(uri, -RENEW_S) < RENEW_S or self._settings.context_chars == 0:
            return
        self._made[uri] = now
        if len(self._made) > KEPT_DOCUMENTS:
            oldest = min(self._made, key=self._made.__getitem__)
            self._made.pop(oldest)
            self._lists.pop(oldest, None)
        document = self._documents.get(uri)
        if document is None or document.path is None:
            return
        head = "".join(itertools.islice(document.lines, 400))[:IMPORT_CHARS]
        task = asyncio.create_task(
            self._make(uri, document.language, document.path, head, list(self._open(uri)))
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _open(self, uri: str) -> Iterator[_Source]:
        """The other open files, the last edited first."""
        if self._settings.open_files:
            others = sorted(self._documents, key=lambda each: -each.edited)
            for other in itertools.islice((o for o in others if o.uri != uri and o.path), MAX_OPEN):
                if other.path is not None:
                    yield _Source(other.uri, other.path, other.language, other.text)

    async def _make(self, uri: str, language: str, path: Path, head: str, opened: list[_Source]) -> None:
        try:
            new = await asyncio.to_thread(self._collect, uri, language, path, head, opened)
        except Exception:
            _log.exception("the context of a document cannot be made")
            return
        if self._documents.get(uri) is not None:
            self._lists[uri] = arrange(self._lists.get(uri, []), new, self._settings.context_chars)

    def _collect(self, uri: str, language: str, path: Path, head: str, opened: list[_Source]) -> list[Piece]:
        """Runs in a thread: reads files, and leaves out those that stay here."""
        sources = list(opened)
        if self._settings.imports:
            known = {path, *(source.path for source in opened)}
            # an import that leads out of the workspace takes nothing along from there
            folders = [folder.resolve() for folder in self.privacy.folders or [path.parent]]
            found = (
                file
                for file in imported_files(head, language, path, self.privacy.folders)
                if file not in known
                and file.is_file()
                and any(file.resolve().is_relative_to(folder) for folder in folders)
            )
            files = itertools.islice(dict.fromkeys(found), MAX_IMPORTS)
            sources += [_Source(file.as_uri(), file, language) for file in files]
        share = self._settings.context_chars // SHARE
        made = (self._snippet(source, share) for source in sources)
        return [piece for piece in made if piece is not None]

    def _snippet(self, source: _Source, share: int) -> Piece | None:
        if self.privacy.refuses(source.uri, len(source.text or "")):
            return None
        text = source.text
        if text is None:
            try:
                text = source.path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                return None
        text = text.strip()
        short = text if len(text) <= share // 4 else outline(text, source.language, share)
        if not short:
            return None
        return Piece(source.uri, Snippet(path=self.shown_path(source.path), text=short))
