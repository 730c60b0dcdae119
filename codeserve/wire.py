"""Messages to and from the text of a frame: strict about types, clear about what is wrong."""

from __future__ import annotations

import json
from typing import Any, Literal, get_args, get_origin

import attrs
import orjson
from cattrs import ClassValidationError, transform_error
from cattrs.preconf.orjson import make_converter

from codeserve.protocol import ClientMessage, Error, ErrorCode, Finish, ProtocolError, ServerMessage, Snippet

__all__ = ["clean_text", "decode_client", "decode_server", "encode"]

_CLIENT_TYPES: dict[str, type] = {c.__name__.lower(): c for c in get_args(ClientMessage)}
_SERVER_TYPES: dict[str, type] = {c.__name__.lower(): c for c in get_args(ServerMessage)}

_CODES = frozenset(ErrorCode)

_converter = make_converter(forbid_extra_keys=False)


class _Told(TypeError):
    """A wrong type, in words of our own: fit to be sent back."""


def _strict(kind: type, name: str) -> None:
    def structure(value: Any, _: type) -> Any:
        # bool is an int to Python, not to the wire
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise _Told(f"expected {name}")
        return value

    _converter.register_structure_hook(kind, structure)


_strict(str, "a string")
_strict(int, "an integer")


def _number(value: Any, _: type) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _Told("expected a number")
    return float(value)


_converter.register_structure_hook(float, _number)


def _finish(value: Any, _: type) -> Finish:
    # a hook of its own: the one for str would leave a StrEnum's value a plain, unchecked string
    try:
        return Finish(value)
    except ValueError:
        raise _Told("expected one of " + ", ".join(Finish)) from None


_converter.register_structure_hook(Finish, _finish)


def _literal(cls: type) -> Any:
    allowed = get_args(cls)

    def structure(value: Any, _: type) -> Any:
        if not isinstance(value, str) or value not in allowed:
            raise _Told("expected one of " + ", ".join(allowed))
        return value

    return structure


def _is_literal(cls: Any) -> bool:
    return get_origin(cls) is Literal


_converter.register_structure_hook_factory(_is_literal, _literal)


def _snippets(value: Any, _: type) -> list[Snippet]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _Told("expected a list of {path, text}")
    return [_converter.structure(item, Snippet) for item in value]


_converter.register_structure_hook_func(lambda cls: cls == list[Snippet], _snippets)


def clean_text(text: str) -> str:
    """``text`` with lone surrogates, which no UTF-8 can carry, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def encode(message: ClientMessage | ServerMessage) -> str:
    """A message as the text of one frame. Lone surrogates become U+FFFD."""
    body = _converter.unstructure(message)
    body["type"] = type(message).__name__.lower()
    try:
        return orjson.dumps(body).decode()
    except TypeError:  # lone surrogates
        return clean_text(json.dumps(body, ensure_ascii=False))


def _decode(frame: str | bytes, types: dict[str, type]) -> Any:
    if isinstance(frame, bytes):
        raise ProtocolError(ErrorCode.BAD_MESSAGE, "binary frame: send one JSON object as a text frame")
    try:
        body = orjson.loads(frame)
    except orjson.JSONDecodeError as exc:
        body = _loads_surrogates(frame, exc)
    if not isinstance(body, dict):
        raise ProtocolError(ErrorCode.BAD_MESSAGE, 'the frame is JSON but not an object: send {"type": …}')
    id_ = body.get("id")
    id_ = id_ if isinstance(id_, str) else None
    kind = body.get("type")
    cls = types.get(kind) if isinstance(kind, str) else None
    if cls is None:
        # not the repr of just anything: that of deeply nested lists does not end well
        named = clean_text(repr(kind[:40])) if isinstance(kind, str) else "that is no string"
        raise ProtocolError(
            ErrorCode.UNKNOWN_TYPE, f"unknown type {named}: one of {', '.join(sorted(types))}", id_
        )
    try:
        return _converter.structure(body, cls)
    except ClassValidationError as exc:
        raise ProtocolError(ErrorCode.INVALID, _explain(exc, kind or ""), id_) from None


def _loads_surrogates(frame: str, exc: orjson.JSONDecodeError) -> Any:
    """Parse what orjson refused: JSON with escaped lone surrogates is read with U+FFFD in their place."""
    if "\\ud" in frame or "\\uD" in frame:
        try:
            return orjson.loads(clean_text(json.dumps(json.loads(frame), ensure_ascii=False)))
        except (ValueError, RecursionError):
            pass
    raise ProtocolError(ErrorCode.BAD_MESSAGE, f"not JSON: {exc.msg} at character {exc.pos}") from None


def _explain(exc: ClassValidationError, kind: str) -> str:
    """One line for the first thing that is wrong, with its field and without any value from the message."""

    def describe(error: BaseException, _: type | None) -> str:
        if isinstance(error, KeyError):
            return "required field missing"
        if isinstance(error, _Told) or (isinstance(error, ValueError) and " must " in str(error)):
            return str(error)
        return "invalid value"

    first = transform_error(exc, path=kind, format_exception=describe)[0]
    what, _, where = first.rpartition(" @ ")
    return f"{where}: {what}"


def decode_client(frame: str | bytes) -> ClientMessage:
    """Read a frame that a client sent. Raises: ProtocolError."""
    message: ClientMessage = _decode(frame, _CLIENT_TYPES)
    return message


def decode_server(frame: str | bytes) -> ServerMessage:
    """Read a frame that the server sent. An unknown error code is ``internal``. Raises: ProtocolError."""
    message: ServerMessage = _decode(frame, _SERVER_TYPES)
    if isinstance(message, Error) and message.code not in _CODES:
        # a newer server's; or anything at all, and codes go into logs and are counted
        return attrs.evolve(message, code=ErrorCode.INTERNAL)
    return message
