"""The language server: which method of the protocol goes where. Registration only."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any, get_args

import psutil
from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder, get_capability
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcMethodNotFound
from pygls.lsp.server import LanguageServer

from codeserve_lsp import __version__, convert
from codeserve_lsp.protocol import Protocol, converter
from codeserve_lsp.session import Completion, Session
from codeserve_lsp.settings import SECTION
from codeserve_lsp.stdio import serve
from codeserve_lsp.text import Encoding
from codeserve_lsp.timing import CAPABILITY

__all__ = ["Server", "make_server"]

# A client that does not say what its settings are within this is connected with those it gave before.
CONFIGURATION_S = 2.0
# The one command that users run: connect now, with the token as it is now.
RECONNECT = "codeserve.reconnect"

_ENCODINGS: dict[str, Encoding] = {name: name for name in get_args(Encoding)}

_log = logging.getLogger(__name__)


class Server(LanguageServer):
    """pygls' server with a session. What goes wrong is logged and never pops up in the editor."""

    def __init__(self) -> None:
        super().__init__(
            "codeserve-lsp",
            __version__,
            notebook_document_sync=types.NotebookDocumentSyncOptions(
                [types.NotebookDocumentFilterWithNotebook(notebook="*")]
            ),
            protocol_cls=Protocol,
            converter_factory=converter,
        )
        self.parent: psutil.Process | None = None
        self.arrived = 0.0  # when the message at hand came in, in the event loop's time
        self.protocol: Protocol
        self.session = Session(lambda status: self.protocol.notify("codeserve/status", status))

    async def run(self) -> None:
        """Serve on standard input and output until the editor is gone, or the process that started it.

        Raises: SystemExit when it says exit: 0 after a shutdown, else 1.
        """

        def arrived(when: float) -> None:
            self.arrived = when
            self.session.context.foreground.begins()

        try:
            await serve(
                self.protocol, arrived, lambda: self.parent is not None and not self.parent.is_running()
            )
        except SystemExit:
            await self.protocol.settle()
            raise
        finally:
            await self.session.close()

    def report_server_error(self, error: Exception, source: Any) -> None:
        # a request that this server does not know is no failure: it was answered so, and Kate goes on asking
        level = logging.DEBUG if isinstance(error, JsonRpcMethodNotFound) else logging.ERROR
        _log.log(level, "%s while handling a message", type(error).__name__)


def make_server() -> Server:
    """A server that is ready to be started on stdio."""
    server = Server()
    _lifecycle(server)
    _documents(server)
    _notebooks(server)
    _completions(server)
    return server


def _lifecycle(server: Server) -> None:
    session = server.session

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        if params.process_id is not None:
            # one that is not to be seen here, from within a container, says nothing
            with contextlib.suppress(psutil.Error, ValueError):
                server.parent = psutil.Process(params.process_id)
        capabilities = params.capabilities
        encoding = ServerCapabilitiesBuilder.choose_position_encoding(capabilities)
        folders = [folder.uri for folder in params.workspace_folders or []]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        session.start(_ENCODINGS[encoding], folders, convert.plain(params.initialization_options))
        experimental = convert.plain(capabilities.experimental)
        if isinstance(experimental, dict) and experimental.get(CAPABILITY) is True:
            session.completer.timing.notify = server.protocol.notify
        if get_capability(capabilities, "text_document.inline_completion") is None:
            _menu_completions(server)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        if get_capability(
            server.client_capabilities, "workspace.did_change_configuration.dynamic_registration", False
        ):
            change = types.Registration(id="settings", method=types.WORKSPACE_DID_CHANGE_CONFIGURATION)
            server.protocol.send_request("client/registerCapability", types.RegistrationParams([change]))
        await configure(None)
        session.connect()

    pulls = 0

    async def configure(pushed: object) -> None:
        nonlocal pulls
        if not get_capability(server.client_capabilities, "workspace.configuration", False):
            session.configure(pushed)
            return
        item = types.ConfigurationItem(section=SECTION)
        pulls += 1
        pull = pulls
        try:
            async with asyncio.timeout(CONFIGURATION_S):
                given = await server.workspace_configuration_async(types.ConfigurationParams([item]))
        except Exception as exc:
            _log.warning("the editor did not give its settings: %s", type(exc).__name__)
        else:
            if pull == pulls:  # else they have changed since
                session.configure(convert.plain(given[0]) if given else None)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        await configure(convert.plain(params.settings))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        # pygls' own list lacks rootUri, and a folder that is taken out and put in again
        event = params.event
        removed, added = ([folder.uri for folder in each] for each in (event.removed, event.added))
        session.context.change_folders(removed, added)

    @server.feature("codeserve/token")
    def token(params: Any) -> dict[str, Any]:
        given = params if isinstance(params, Mapping) else {}
        token, url = given.get("token"), given.get("serverUrl")
        if not isinstance(params, Mapping) or not all(isinstance(each, str | None) for each in (token, url)):
            raise JsonRpcInvalidParams("token and serverUrl must be texts or null: nothing was changed")
        session.set_token(token, url)
        return {}

    @server.feature("codeserve/stats")
    def stats(_: Any) -> dict[str, Any]:
        return session.completer.stats.as_dict()

    @server.command(RECONNECT)
    def reconnect(*_: Any) -> None:
        session.connect(again=True)

    @server.feature(types.SHUTDOWN)
    async def shutdown(*_: Any) -> None:
        await session.close()


def _documents(server: Server) -> None:
    session = server.session
    server.protocol.lost = session.lost

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        session.opened(document.uri, document.language_id, document.version, document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        session.changed(document.uri, convert.changes(params.content_changes), document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        session.closed(params.text_document.uri)

    @server.feature("codeserve/didMoveCursor")
    def did_move_cursor(params: Any) -> None:
        """Sent by an editor's own extension: ``{textDocument: {uri}, position: {line, character}}``."""
        place = convert.place(params)
        if place is not None:
            session.rests(*place)

    @server.feature("textDocument/didFocus")
    def did_focus(params: Any) -> None:
        """Copilot's notification: ``{textDocument: {uri}}``, with a position where the editor has one."""
        place, uri = convert.place(params), convert.uri(params)
        if place is not None:
            session.rests(*place)
        elif uri is not None:
            session.focused(uri)


def _notebooks(server: Server) -> None:
    session = server.session

    def cells(given: Any) -> list[tuple[str, bool]]:
        return [(cell.document, cell.kind == types.NotebookCellKind.Code) for cell in given or ()]

    def opened(given: Any) -> None:
        for cell in given or ():
            session.opened(cell.uri, cell.language_id, cell.version, cell.text)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        session.notebooks.open(params.notebook_document.uri, cells(params.notebook_document.cells))
        opened(params.cell_text_documents)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        change = params.change.cells
        if change is None:
            return
        if change.structure is not None:
            array = change.structure.array
            session.notebooks.splice(
                params.notebook_document.uri, array.start, array.delete_count, cells(array.cells)
            )
            for cell in change.structure.did_close or ():  # first: one that is moved is closed and opened
                session.closed(cell.uri)
            opened(change.structure.did_open)
        for text in change.text_content or ():
            session.changed(text.document.uri, convert.changes(text.changes), text.document.version)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        session.notebooks.close(params.notebook_document.uri)
        for cell in params.cell_text_documents:
            session.closed(cell.uri)


def _completions(server: Server) -> None:
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    async def inline_completion(params: types.InlineCompletionParams) -> types.InlineCompletionList:
        invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
        chosen = convert.selected(params.context)
        return convert.inline_list(await _complete(server, params, invoked=invoked, selected=chosen))

    @server.command(convert.ACCEPTED)
    def accepted(*arguments: Any) -> None:
        session.told(arguments[0] if arguments else None, "accepted")

    @server.feature("textDocument/didShowCompletion")
    def did_show(params: Any) -> None:
        session.told(convert.item_key(params), "shown")

    @server.feature("textDocument/didPartiallyAcceptCompletion")
    def did_partially_accept(params: Any) -> None:
        length = params.get("acceptedLength") if isinstance(params, Mapping) else None
        session.told(convert.item_key(params), "partially_accepted", length)


def _menu_completions(server: Server) -> None:
    """The completion menu, for editors that know no inline completion."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions())
    async def completion(params: types.CompletionParams) -> types.CompletionList:
        position = params.position
        document = session.documents.get(params.text_document.uri)
        before = ""
        if document is not None:
            before, _ = document.around(position.line, position.character, session.documents.encoding)
        return convert.completion_list(await _complete(server, params), before, session.documents.encoding)


async def _complete(server: Server, params: Any, **how: Any) -> Completion:
    position = params.position
    try:
        return await server.session.complete(
            params.text_document.uri, position.line, position.character, arrived=server.arrived, **how
        )
    except Exception:
        _log.exception("a completion failed")
        here = position.line, position.character
        return Completion(here, here, [], "internal")
