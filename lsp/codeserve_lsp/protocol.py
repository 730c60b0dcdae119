"""pygls' protocol, with documents and bad messages treated otherwise.

The documents are this server's own (`codeserve_lsp.documents`): pygls would apply each change a second time,
line by line, and wrongly where a line holds a form feed or U+2028.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import attrs
from cattrs import Converter
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
    default_converter,
    lsp_method,
)

__all__ = ["Protocol", "converter"]

_log = logging.getLogger(__name__)

# JSON-RPC 2.0, "Error object".
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
# LSP 3.18, "ErrorCodes".
NOT_INITIALIZED = -32002
# An exit waits for answers this long.
SETTLE_S = 3.0


def _whole(value: object, _: type) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise TypeError("a whole number is expected")
    return int(value)


def _text(value: object, _: type) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected")
    return value


def _version(value: object) -> int:
    """The version of a document. Nothing depends on it, and before LSP 3.16 it could be null."""
    return value if isinstance(value, int) and 0 <= value < 2**31 else 0


def _document(body: dict[str, Any], _: type) -> types.TextDocumentItem:
    uri, language, text = (_text(body[name], str) for name in ("uri", "languageId", "text"))
    return types.TextDocumentItem(uri, language, _version(body.get("version")), text)


def _versioned(body: dict[str, Any], _: type) -> types.VersionedTextDocumentIdentifier:
    return types.VersionedTextDocumentIdentifier(_version(body.get("version")), _text(body["uri"], str))


def _versioned_notebook(body: dict[str, Any], _: type) -> types.VersionedNotebookDocumentIdentifier:
    return types.VersionedNotebookDocumentIdentifier(_version(body.get("version")), _text(body["uri"], str))


_default: Callable[[], Converter] = default_converter  # which has no annotations


def converter() -> Converter:
    """pygls' converter, with the parameters of messages outside the protocol as plain dicts and lists.

    pygls would make named tuples of them, which lose keys such as ``*`` and ``c++``. And it would make
    numbers of texts and texts of everything: a line "0" or a text 5 is an error of the client, which is told.
    """
    made = _default()
    made.register_structure_hook(int, _whole)
    made.register_structure_hook(str, _text)
    made.register_structure_hook(types.TextDocumentItem, _document)
    made.register_structure_hook(types.VersionedTextDocumentIdentifier, _versioned)
    made.register_structure_hook(types.VersionedNotebookDocumentIdentifier, _versioned_notebook)

    def request(body: dict[str, Any], _: type) -> JsonRPCRequestMessage:
        return JsonRPCRequestMessage(body["id"], body["method"], body["jsonrpc"], body.get("params"))

    def notification(body: dict[str, Any], _: type) -> JsonRPCNotification:
        return JsonRPCNotification(body["method"], body["jsonrpc"], body.get("params"))

    def response(body: dict[str, Any], _: type) -> JsonRPCResponseMessage:
        return JsonRPCResponseMessage(body["id"], body["jsonrpc"], body.get("result"))

    made.register_structure_hook(JsonRPCRequestMessage, request)
    made.register_structure_hook(JsonRPCNotification, notification)
    made.register_structure_hook(JsonRPCResponseMessage, response)
    _warm_up(made)
    return made


def _warm_up(made: Converter) -> None:
    """Have cattrs make the code for the messages of a keystroke now: the first one must not wait for it."""
    here = {"line": 0, "character": 0}
    document = {"uri": "", "version": 1, "languageId": "", "text": ""}
    edits = [{"range": {"start": here, "end": here}, "text": ""}, {"text": ""}]
    cursor = {"textDocument": document, "position": here, "context": {"triggerKind": 1}}
    samples: list[tuple[type, str, dict[str, Any]]] = [
        (types.DidOpenTextDocumentNotification, types.TEXT_DOCUMENT_DID_OPEN, {"textDocument": document}),
        (
            types.DidChangeTextDocumentNotification,
            types.TEXT_DOCUMENT_DID_CHANGE,
            {"textDocument": document, "contentChanges": edits},
        ),
        (types.InlineCompletionRequest, types.TEXT_DOCUMENT_INLINE_COMPLETION, cursor),
    ]
    for kind, method, params in samples:
        made.structure({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}, kind)
    span = types.Range(types.Position(0, 0), types.Position(0, 0))
    item = types.InlineCompletionItem("", range=span, command=types.Command("", "", arguments=[""]))
    made.unstructure(types.InlineCompletionResponse(id=0, result=types.InlineCompletionList([item])))


def _id_can_be(body: dict[str, Any]) -> bool:
    """Whether a message has an id of a type that one can have, or none."""
    id = body.get("id", 0)
    return isinstance(id, str | int) and not isinstance(id, bool)


_CONTENT = {
    types.TEXT_DOCUMENT_DID_OPEN: "textDocument",
    types.TEXT_DOCUMENT_DID_CHANGE: "textDocument",
    types.NOTEBOOK_DOCUMENT_DID_OPEN: "notebookDocument",
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: "notebookDocument",
}


def _subject(method: object, params: object) -> str | None:
    """The URI of which a message says what is in it."""
    key = _CONTENT.get(method) if isinstance(method, str) else None
    document = params.get(key) if key is not None and isinstance(params, dict) else None
    uri = document.get("uri") if isinstance(document, dict) else None
    return uri if isinstance(uri, str) else None


class Protocol(LanguageServerProtocol):
    """The protocol object of `codeserve_lsp.server`.

    ``lost(uri)`` is called for a document or notebook that was opened or changed by a message that cannot be
    read.
    """

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.fm.builtin_features[types.SHUTDOWN] = self._close_down
        self.fm.builtin_features[types.EXIT] = self._exit
        self._begun = False  # with `initialize`
        self.lost: Callable[[str], None] = lambda _: None

    def _pass_on(self, method: str, params: Any) -> None:
        """Call the handler that was registered and leave out pygls' own bookkeeping."""
        registered = self.fm.features.get(method)
        if registered is not None:
            registered(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._pass_on(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self._pass_on(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._pass_on(types.TEXT_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        self._pass_on(types.NOTEBOOK_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        self._pass_on(types.NOTEBOOK_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self._pass_on(types.NOTEBOOK_DOCUMENT_DID_CLOSE, params)

    def structure_message(self, data: Any) -> Any:
        """Read a message. One that cannot be read gets an error answer, where pygls gives none at all.

        pygls would also format a traceback, which takes longer than a keystroke may.
        """
        if not isinstance(data, dict) or "jsonrpc" not in data or not _id_can_be(data):
            return self._unreadable(data, INVALID_REQUEST)
        try:
            kind = self._kind(data)
            if "method" in data and "id" in data and "id" not in attrs.fields_dict(kind):
                return self._unreadable(data, INVALID_REQUEST)  # a notification that waits for an answer
            # what is odd in an editor's first message must not keep it from completions
            read = _default() if kind is types.InitializeRequest else self._converter
            return read.structure(data, kind)
        except Exception:
            return self._unreadable(data, INVALID_PARAMS)

    def _kind(self, data: dict[str, Any]) -> Any:
        method = data.get("method")
        if "id" not in data:
            return self.get_message_type(method or "") or JsonRPCNotification
        if "error" in data:
            return types.ResponseErrorMessage
        if method is not None:
            return self.get_message_type(method) or JsonRPCRequestMessage
        return self._result_types.pop(data["id"], None) or JsonRPCResponseMessage

    def _unreadable(self, data: Any, code: int) -> Any:
        body = data if isinstance(data, dict) else {}
        method = body.get("method")
        _log.warning("a message that cannot be read: %s", method if isinstance(method, str) else "?")
        if "method" in body and "id" in body:
            # written out: lsprotocol would leave out an id that is null
            id = body["id"] if _id_can_be(body) else None
            error = {"code": code, "message": "the request cannot be read"}
            self._send_data({"jsonrpc": self.VERSION, "id": id, "error": error})
        uri = _subject(method, body.get("params"))
        if uri is not None:
            self.lost(uri)
        # what is returned is handled next: a version that is not "2.0" is passed over
        return JsonRPCNotification(method="", jsonrpc="", params=None)

    def handle_message(self, message: Any) -> None:
        """Handle a message, or refuse one that comes before `initialize` or after `shutdown`."""
        method = getattr(message, "method", "")
        refused = self._refused(method)
        if method == types.INITIALIZE:
            self._begun = True
        if not refused:
            super().handle_message(message)
        elif method and hasattr(message, "id"):
            code, why = refused
            self._send_response(message.id, error=types.ResponseError(code=code, message=why))

    def _refused(self, method: str) -> tuple[int, str] | None:
        if method == types.EXIT:
            return None
        if self._shutdown:
            return INVALID_REQUEST, "the server has been shut down"
        if self._begun == (method != types.INITIALIZE):
            return None
        if self._begun:
            return INVALID_REQUEST, "the server is initialized already"
        return NOT_INITIALIZED, "the server is not initialized yet"

    async def _close_down(self, *_: Any) -> None:
        """Close everything down; `exit` is in order from the moment at which this comes in."""
        self._shutdown = True
        await self.fm.features[types.SHUTDOWN]()
        for id, future in list(self._request_futures.items()):
            if id != self.msg_id:
                future.cancel()

    def _exit(self, *_: Any) -> None:
        """Raises: SystemExit."""
        raise SystemExit(0 if self._shutdown else 1)

    async def settle(self) -> None:
        """Wait, not for long, until the requests before a `shutdown` and that one are answered."""
        futures: list[Any] = list(self._request_futures.values())
        answers = [each for each in futures if asyncio.isfuture(each)]
        if self._shutdown and answers:
            await asyncio.wait(answers, timeout=SETTLE_S)

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        if error is not None and error.data is not None:
            # a traceback, which an editor would show
            error = types.ResponseError(code=error.code, message="it failed; the log says more")
        super()._send_response(msg_id, result, error)
