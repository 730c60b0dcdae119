from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeserve.protocol import (
    Admin,
    Cancel,
    ClientMessage,
    Complete,
    Delta,
    Done,
    Error,
    Feedback,
    Finish,
    Hello,
    Limits,
    Prewarm,
    ProtocolError,
    ServerMessage,
    Snippet,
    Status,
    Timings,
    Tokens,
    Welcome,
)
from codeserve.wire import clean_text, decode_client, decode_server, encode

FROM_CLIENT: list[ClientMessage] = [
    Hello(1, "token", "editor 1.0"),
    Complete(
        id="1",
        document="file:///a.py",
        prefix="x = '\u00e9😀'",
        suffix="\n",
        path="a.py",
        language="python",
        snippets=[Snippet("b.py", "y = 1")],
        deadline_ms=250,
        mode="line",
        candidates=3,
    ),
    Prewarm(id="1", document="a.py", prefix="x"),
    Cancel("1"),
    Feedback("1", "partially_accepted", 12),
    Admin("status", "1"),
]
FROM_SERVER: list[ServerMessage] = [
    Welcome(1, "mini", Limits(), "starting"),
    Delta("1", "text"),
    Done("1", "text", Finish.STOP, Timings(1.5, None, 3.0), Tokens(5, 4, 3, 2, 1), ["text", "other"]),
    Error("overloaded", "too much", "1", 50),
    Status("ready", 0.5),
]


@pytest.mark.parametrize("message", FROM_CLIENT, ids=lambda message: type(message).__name__)
def test_client_round_trip(message: ClientMessage) -> None:
    """What a client encodes the server decodes to the same."""
    assert decode_client(encode(message)) == message


@pytest.mark.parametrize("message", FROM_SERVER, ids=lambda message: type(message).__name__)
def test_server_round_trip(message: ServerMessage) -> None:
    """What the server encodes a client decodes to the same."""
    assert decode_server(encode(message)) == message


def test_one_way() -> None:
    """A client's message is unknown to clients, a server's to the server."""
    with pytest.raises(ProtocolError, match="unknown type"):
        decode_server(encode(Cancel("1")))
    with pytest.raises(ProtocolError, match="unknown type"):
        decode_client(encode(Status("ready")))


def test_frame() -> None:
    """A frame is one JSON object with its type in lower case."""
    assert json.loads(encode(Cancel("1"))) == {"type": "cancel", "id": "1"}


def test_defaults() -> None:
    """What a message leaves out has its default."""
    message = decode_client('{"type": "complete", "id": "1", "document": "a", "prefix": ""}')
    assert message == Complete(id="1", document="a", prefix="")
    assert isinstance(message, Complete)
    assert (message.deadline_ms, message.mode, message.candidates) == (300, "auto", 1)


def test_unknown_fields() -> None:
    """Fields that this version does not know are ignored."""
    assert decode_client('{"type": "cancel", "id": "1", "why": {"so": [1]}}') == Cancel("1")


def test_number_is_no_text() -> None:
    """Types are not converted: a number is no string, a boolean no number, a fraction no integer."""
    for field, value in [
        ("prefix", "1"),
        ("deadline_ms", "true"),
        ("deadline_ms", "1.0"),
        ("suffix", "null"),
    ]:
        fields = {"id": '"1"', "document": '"a"', "prefix": '""'} | {field: value}
        body = ", ".join(f'"{name}": {text}' for name, text in fields.items())
        with pytest.raises(ProtocolError, match=f"complete.{field}: expected"):
            decode_client(f'{{"type": "complete", {body}}}')


@pytest.mark.parametrize(
    ("frame", "field"),
    [
        ({"type": "admin", "action": "status", "id": "1" * 257}, "id"),
        ({"type": "admin", "action": "status", "id": ""}, "id"),
        ({"type": "admin", "action": "a" * 65}, "action"),
        ({"type": "feedback", "id": "1", "event": "accepted", "characters": -1}, "characters"),
        ({"type": "feedback", "id": "1", "event": "accepted", "characters": 10**30}, "characters"),
        ({"type": "feedback", "id": "1", "event": "accepted", "characters": 1_000_001}, "characters"),
    ],
)
def test_bounds(frame: dict[str, Any], field: str) -> None:
    """What is echoed or counted has its bounds."""
    with pytest.raises(ProtocolError, match=field):
        decode_client(json.dumps(frame))


def test_no_value_in_error() -> None:
    """What is wrong is told without the value, which may be source code or a token."""
    frames = [
        '{"type": "complete", "id": "1", "document": "a", "prefix": {"planted": 1}}',
        '{"type": "complete", "id": "1", "document": "a", "prefix": "", "mode": "planted"}',
        '{"type": "complete", "id": "1", "document": "a", "prefix": "", "snippets": ["planted"]}',
        '{"type": "hello", "version": "planted"}',
        '{"type": "hello", "version": 1, "token": ["planted"]}',
        '{"planted',
    ]
    for frame in frames:
        with pytest.raises(ProtocolError) as caught:
            decode_client(frame)
        assert "planted" not in str(caught.value)


@pytest.mark.parametrize(
    ("escaped", "read"),
    [
        (r"\ud83d", "\ufffd"),
        (r"\udc00x", "\ufffdx"),
        (r"\uDC00\ud83d", "\ufffd\ufffd"),
        (r"\ud83d\ude00", "😀"),
        (r"\ud83d\ud83d\ude00", "\ufffd😀"),
    ],
)
def test_surrogates(escaped: str, read: str) -> None:
    """Lone surrogates are read as U+FFFD, pairs as their character."""
    assert decode_client(f'{{"type": "cancel", "id": "{escaped}"}}') == Cancel(read)


def test_surrogates_out() -> None:
    """Lone surrogates are sent as U+FFFD, so that the frame is UTF-8."""
    frame = encode(Delta("1", "a\ud83db"))
    assert decode_server(frame.encode().decode()) == Delta("1", "a\ufffdb")


def test_clean_text() -> None:
    """Clean text is UTF-8 and as long as it was in UTF-16 units; clean text stays as it is."""
    assert clean_text("a\udc00😀") == "a\ufffd😀"
    text = "plain é 😀"
    assert clean_text(text) is text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
TYPES = ["complete", "prewarm", "cancel", "feedback", "admin", "hello", "status", "done", "welcome"]
FIELDS = ["id", "document", "prefix", "suffix", "snippets", "deadline_ms", "mode", "event", "text", "version"]
MESSAGES = st.builds(
    lambda kind, fields: fields | {"type": kind},
    st.sampled_from(TYPES) | JSON,
    st.dictionaries(st.sampled_from(FIELDS), JSON),
)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200) | MESSAGES.map(json.dumps) | JSON.map(json.dumps))
def test_any_frame(frame: Any) -> None:
    """Any frame is a message or a ProtocolError of one line, nothing else."""
    for decode in (decode_client, decode_server):
        try:
            decode(frame)
        except ProtocolError as exc:
            told = str(exc)
        else:
            continue
        assert told
        assert "\n" not in told


@settings(deadline=None)
@given(st.text(), st.text(), st.text(alphabet=st.characters(), min_size=1, max_size=256))
def test_any_text(prefix: str, suffix: str, id: str) -> None:
    """Any text that UTF-8 can carry arrives as it was sent."""
    message = Complete(id=clean_text(id), document="a", prefix=clean_text(prefix), suffix=clean_text(suffix))
    assert decode_client(encode(message)) == message


def test_secrets_hidden() -> None:
    """Neither tokens nor source code show in the representation of a message."""
    shown = repr(FROM_CLIENT) + repr([Delta("1", "planted"), FROM_SERVER[2]])
    for secret in ("'token'", "x = ", "y = 1", "planted", "other"):
        assert secret not in shown


def test_a_type_that_is_nested_deeply_is_told_like_any_other() -> None:
    """Lists in lists, deeper than Python can show them, where the type should be."""
    depth = 1_010
    for decode in (decode_client, decode_server):
        with pytest.raises(ProtocolError, match="unknown type that is no string") as caught:
            decode('{"id": "a", "type": ' + "[" * depth + "]" * depth + "}")
        assert caught.value.id == "a"


def test_an_error_code_that_is_not_known() -> None:
    """It is taken for ``internal``: any text at all could be in it, and codes are logged and counted."""
    message = decode_server('{"type": "error", "code": "x = 1", "message": "no", "id": "7"}')
    assert message == Error("internal", "no", "7")
