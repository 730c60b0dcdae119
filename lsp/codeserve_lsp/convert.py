"""Between lsprotocol's types and this package's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types

from codeserve_lsp.documents import Change, Edit
from codeserve_lsp.session import Completion
from codeserve_lsp.text import Encoding, units

__all__ = [
    "ACCEPTED",
    "changes",
    "completion_list",
    "inline_list",
    "item_key",
    "place",
    "plain",
    "selected",
    "uri",
]

# The command that an editor runs when it inserts an item; its one argument is the item's key.
ACCEPTED = "codeserve.accepted"


def _point(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def changes(given: Sequence[types.TextDocumentContentChangeEvent]) -> list[Change]:
    """The content changes of a notification, in their order."""
    return [
        Edit(_point(change.range.start), _point(change.range.end), change.text)
        if isinstance(change, types.TextDocumentContentChangePartial)
        else change.text
        for change in given
    ]


def selected(context: types.InlineCompletionContext) -> Edit | None:
    """The entry that is picked in the editor's completion menu."""
    info = context.selected_completion_info
    return None if info is None else Edit(_point(info.range.start), _point(info.range.end), info.text)


def _range(completion: Completion) -> types.Range:
    return types.Range(types.Position(*completion.start), types.Position(*completion.end))


def _accepted(key: str) -> types.Command:
    return types.Command(title="Completion accepted", command=ACCEPTED, arguments=[key])


def inline_list(completion: Completion) -> types.InlineCompletionList:
    """Always a list, never null: null would leave an old suggestion standing in Neovim."""
    span = _range(completion)
    return types.InlineCompletionList(
        items=[
            types.InlineCompletionItem(insert_text=text, range=span, command=_accepted(key))
            for key, text in completion.items
        ]
    )


def _last_word(before: str) -> str:
    start = len(before)
    while start and (before[start - 1].isalnum() or before[start - 1] == "_"):
        start -= 1
    return before[start:]


def completion_list(completion: Completion, before: str, encoding: Encoding) -> types.CompletionList:
    """For a completion menu. ``before`` is the line up to the cursor.

    Editors match entries against the word at the cursor, so the item replaces that word with itself and more.
    """
    word = _last_word(before)
    line, character = completion.start
    start = types.Position(line, character - units(word, encoding))
    span = types.Range(start, types.Position(*completion.end))
    return types.CompletionList(
        is_incomplete=True,  # each keystroke may bring another one
        items=[
            types.CompletionItem(
                label=(word + text).strip().split("\n")[0].rstrip("\r") or "…",
                kind=types.CompletionItemKind.Text,
                detail="codeserve",
                documentation=word + text,
                filter_text=word + text,
                sort_text=" ",  # before every name; Emacs cannot read a NUL
                preselect=True,
                insert_text_format=types.InsertTextFormat.PlainText,
                insert_text_mode=types.InsertTextMode.AsIs,
                text_edit=types.TextEdit(range=span, new_text=word + text),
                command=_accepted(key),
            )
            for key, text in completion.items
        ],
    )


def item_key(params: object) -> object:
    """The key in ``{item: {command: {arguments: [key]}}}``, None when it is not there."""
    item = params.get("item") if isinstance(params, Mapping) else None
    command = item.get("command") if isinstance(item, Mapping) else None
    arguments = command.get("arguments") if isinstance(command, Mapping) else None
    return arguments[0] if isinstance(arguments, list) and arguments else None


def uri(params: object) -> str | None:
    """The document in ``{textDocument: {uri}}``, None when it is not there."""
    document = params.get("textDocument") if isinstance(params, Mapping) else None
    found = document.get("uri") if isinstance(document, Mapping) else None
    return found if isinstance(found, str) else None


def place(params: object) -> tuple[str, int, int] | None:
    """Document, line and column in ``{textDocument: {uri}, position: {line, character}}``, None without."""
    document = uri(params)
    position = params.get("position") if isinstance(params, Mapping) else None
    if document is None or not isinstance(position, Mapping):
        return None
    line, character = position.get("line"), position.get("character")
    if not isinstance(line, int) or not isinstance(character, int):
        return None
    return document, line, character


def plain(value: object) -> Any:
    """A value of type LSPAny as dicts and lists, whatever the structuring made of it."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(inner) for inner in value]
    return value
