"""One editor's session: its documents and settings, and who answers what. Knows nothing of pygls."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from codeserve_lsp.ahead import Ahead, Offer
from codeserve_lsp.complete import NOT_HERE, Answer, Completer, Request
from codeserve_lsp.context import Context
from codeserve_lsp.documents import Change, Document, Documents, Edit, Snapshot, file_path
from codeserve_lsp.notebooks import Notebooks
from codeserve_lsp.relay import Event, Relay, Target
from codeserve_lsp.settings import Settings, update
from codeserve_lsp.text import Encoding, half
from codeserve_lsp.throttle import Throttle
from codeserve_lsp.tokens import Tokens
from codeserve_lsp.trigger import worth_asking

__all__ = ["Completion", "Session"]

# A document that is this many times too long for completions is still followed: it may become shorter.
FOLLOWED = 2

_log = logging.getLogger(__name__)


@attrs.frozen
class Completion:
    """What to show and where: texts with the document's own line ends, in place of ``start`` to ``end``."""

    start: tuple[int, int]
    end: tuple[int, int]
    items: list[tuple[str, str]] = attrs.field(repr=False)  # key and text
    reason: str = ""


class Session:
    """Made before the editor says anything; connects once it is configured.

    ``notify(parameters)`` sends ``codeserve/status`` when it has changed, a few times a second at most.
    """

    def __init__(self, notify: Callable[[dict[str, Any]], None]) -> None:
        self.settings = Settings()
        self.documents = Documents()
        self.notebooks = Notebooks(self.documents)
        self.context = Context(self.documents)
        self.relay = Relay(self._tell)
        self.completer = Completer(self.relay, self._prepare)
        self.ahead = Ahead(self.completer, self.relay, self._prepare, self._ruled_out)
        self._notify = Throttle(notify)
        self._told: dict[str, Any] = {}
        self._tokens = Tokens()
        self._at_start = Settings()  # what initializationOptions say
        self._connect = False
        self._cursor: tuple[str, int, int] | None = None  # where it was seen last
        self._cursors: dict[str, tuple[int, int]] = {}  # by document

    # Settings and connection

    def start(self, encoding: Encoding, folders: Iterable[str], options: object) -> None:
        """What the editor said at initialize. Does not connect yet."""
        self.documents.encoding = encoding
        self.context.set_folders(folders)
        self.configure(options)
        self._at_start = self.settings
        self._tokens.name(self.settings.server_url)

    def configure(self, given: object) -> None:
        """Take settings; what they change holds for the next request on.

        What they do not name is as it was said at initialize.
        """
        settings, problems = update(self.settings, given, self._at_start)
        for problem in problems:
            _log.warning("settings: %s", problem)
        if settings != self.settings:
            self.settings = settings
            self.completer.cache.forget()
            self.ahead.forget()
        self.completer.budget_ms = settings.budget_ms
        self.ahead.prefetch, self.ahead.prewarm = settings.prefetch, settings.prewarm
        self.context.configure(settings)
        self.documents.max_chars = FOLLOWED * settings.max_file_bytes
        if self._connect:
            self.connect()

    def set_token(self, token: str | None, url: str | None = None) -> None:
        """Take the token that the editor keeps (`Tokens.give`)."""
        self._tokens.give(token, url)
        if self._connect:
            self.connect()

    def connect(self, *, again: bool = False) -> None:
        """Connect as the settings say. ``again``: also where it was refused or lost before."""
        self._connect = True
        target, problem, settings = None, "switched off in the settings", self.settings
        if settings.enabled:
            try:
                token, kept = self._tokens.of(settings)
                target, problem = Target(settings.server_url, token, settings.ca_file, kept), ""
            except ValueError as exc:
                problem = str(exc)
        if self.relay.configure(target, problem):
            self.completer.cache.forget()
            self.ahead.forget()
        elif again:
            self.relay.retry()

    async def close(self) -> None:
        """Disconnect, and end what is under way."""
        self.ahead.stop()
        self._notify.close()  # first: the editor need not hear that the connection goes
        await self.completer.close()
        await self.relay.close()

    def status(self) -> dict[str, Any]:
        """The parameters of ``codeserve/status``."""
        if not self.settings.enabled:
            return {"state": "off", "reason": "switched off in the settings"}
        return self.relay.status()

    def _tell(self) -> None:
        status = self.status()
        if status == self._told:
            return
        state, before = status["state"], self._told.get("state")
        if state != before:
            _log.info("the completion server: %s", state)  # its reason may hold an address
        self._told = status
        self._notify(status)
        if state == "ready" != before:
            self.context.set_room(self.relay.snippet_tokens)
            self.ahead.cold()
            if self._cursor is not None:
                self.rests(*self._cursor)

    # Documents

    def opened(self, uri: str, language: str, version: int | None, text: str) -> None:
        document = self.documents.open(uri, text, version=version, language=language)
        self.completer.changed(uri)  # it may have been open before
        self.completer.cache.forget(uri)
        if self._stays_here(document):
            self.context.closed(uri)
        else:
            self.context.opened(uri)
        # most files are opened at their start; an editor that knows better says so, or asks there
        self.rests(uri, 0, 0)

    def changed(self, uri: str, changes: Iterable[Change], version: int | None) -> None:
        if self.documents.change(uri, changes, version) is not None:
            self.ahead.stop()
            self.completer.changed(uri)

    def lost(self, uri: str) -> None:
        """A change of the document, or of the notebook, could not be read.

        An answer to a text that is no more would be put into another one: there is none until the whole text
        has come.
        """
        for each in (uri, *self.notebooks.cells(uri)):
            document = self.documents.get(each)
            if document is not None:
                document.lose()
                self.completer.changed(each)

    def closed(self, uri: str) -> None:
        self.documents.close(uri)
        self.completer.changed(uri)
        self.completer.cache.forget(uri)
        self.ahead.closed(uri)
        self.context.closed(uri)
        self._cursors.pop(uri, None)
        if self._cursor is not None and self._cursor[0] == uri:
            self._cursor = None

    def rests(self, uri: str, line: int, character: int) -> None:
        """The cursor is there now."""

        def look() -> Snapshot | None:
            if self.context.rested(uri):
                self.ahead.cold()
            return self._look(uri, line, character)[0]

        if self.documents.get(uri) is not None:
            self._cursors[uri] = (line, character)
            self._cursor = (uri, line, character)
            self.ahead.rests(uri, look)

    def focused(self, uri: str) -> None:
        """The document is in front now; its cursor is where it was."""
        if uri in self._cursors:
            self.rests(uri, *self._cursors[uri])

    # Completions

    async def complete(
        self,
        uri: str,
        line: int,
        character: int,
        *,
        arrived: float,
        invoked: bool = False,
        selected: Edit | None = None,
    ) -> Completion:
        """The answer to a request that came in at ``arrived``, in the loop's time.

        The document is looked at before anything is awaited. Positions outside it mean the nearest inside.
        """
        document = self.documents.get(uri)
        if document is not None:
            clamp = functools.partial(document.clamp, encoding=self.documents.encoding)
            line, character = clamp((line, character))
            selected = selected and Edit(clamp(selected.start), clamp(selected.end), selected.text)
        here = line, character
        start, end = (selected.start, selected.end) if selected else (here, here)
        self.ahead.stop()
        snapshot, reason = self._look(uri, line, character, selected)
        around = start[0] == end[0] == line and start <= here <= end
        if not around or (selected is not None and half(selected.text)):
            # an item has to be around the cursor, in its line, and what no JSON can carry is in none
            snapshot, reason = None, reason or NOT_HERE
        if snapshot is None:
            return self._nothing(uri, here, reason)
        self.rests(uri, line, character)
        asked = self.settings.candidates if invoked else 1
        ask = invoked or selected is not None or self._worth_asking(uri, line, character)
        answer = await self.completer.complete(
            snapshot, candidates=asked, arrived=arrived, by_hand=invoked, ask=ask
        )
        if answer.suggestion is not None and not answer.cached:
            self.ahead.asked(snapshot)
        offers = self._offers(snapshot, answer, asked)
        before = selected.text if selected else ""
        items = [(offer.key, before + offer.text.replace("\n", snapshot.eol)) for offer in offers]
        if not items:
            _log.debug("no completion: %s", answer.reason)
        return Completion(start, end, items, answer.reason)

    def _nothing(self, uri: str, here: tuple[int, int], reason: str) -> Completion:
        """An answer without asking anyone."""
        self.completer.stats.answers[reason] += 1
        self.completer.timing.answered(uri, reason, 0.0)
        _log.debug("no completion: %s", reason)
        return Completion(here, here, [], reason)

    def _offers(self, snapshot: Snapshot, answer: Answer, asked: int) -> list[Offer]:
        return self.ahead.offer(snapshot, attrs.evolve(answer, texts=answer.texts[:asked]))

    def told(self, key: object, event: Event, characters: object = None) -> None:
        """The editor says what became of an item."""
        if isinstance(key, str):
            self.ahead.told(key, event, characters if isinstance(characters, int) else None)

    def _look(
        self, uri: str, line: int, character: int, selected: Edit | None = None
    ) -> tuple[Snapshot | None, str]:
        """What a request sees, or why it must not see anything."""
        document = self.documents.get(uri)
        if document is None:
            return None, "unknown_document"
        if self._stays_here(document):
            return None, "disabled_here"
        if document.lost:
            return None, "unknown_document"
        snapshot = document.snapshot(line, character, self.documents.encoding, selected=selected)
        return self.notebooks.widen(snapshot), ""

    def _stays_here(self, document: Document) -> bool:
        """Whether the settings, or the rules on what must not leave this machine, forbid completions."""
        if not self.settings.enabled or not self.settings.language_on(document.language):
            return True
        return self.context.refuses(self._file(document.uri), document.size)

    def _ruled_out(self, uri: str) -> bool:
        document = self.documents.get(uri)
        return document is None or self._stays_here(document)

    def _worth_asking(self, uri: str, line: int, character: int) -> bool:
        document = self.documents.get(uri)
        if document is None:
            return False
        before, after = document.around(line, character, self.documents.encoding)
        deleted = document.deleted_at == (line, character)
        return worth_asking(before, after, deleted=deleted, triggers=self.settings.triggers)

    def _file(self, uri: str) -> str:
        notebook = self.notebooks.of(uri)
        return notebook.uri if notebook is not None else uri

    def _prepare(self, snapshot: Snapshot) -> Request:
        file = self._file(snapshot.uri)
        path = file_path(file)
        return Request(
            snapshot=snapshot,
            path=self.context.shown_path(path) if path else "",
            snippets=self.context.snippets(snapshot.uri),
            mode=self.settings.mode,
        )
