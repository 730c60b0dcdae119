"""Nothing that a client sends ends its connection, but a bad hello or a frame over the limit."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import orjson
import pytest

from codeserve.server.app import Server
from tests.scripted_engine import ScriptedEngine
from tests.server.conftest import StartServer
from tests.server.peer import peer
from tests.server.raw import RawClient, frame

COMPLETE: dict[str, Any] = {"type": "complete", "id": "7", "document": "a.py", "prefix": "x = "}


def altered(**fields: Any) -> str:
    return json.dumps(COMPLETE | fields)


def without(field: str) -> str:
    return json.dumps({key: value for key, value in COMPLETE.items() if key != field})


@pytest.mark.parametrize(
    ("frame", "code", "id", "named"),
    [
        ("", "bad_message", None, ""),
        ("not json", "bad_message", None, ""),
        ('{"type": "complete"', "bad_message", None, ""),
        ("[]", "bad_message", None, ""),
        ("null", "bad_message", None, ""),
        ("[" * 5000, "bad_message", None, ""),
        (b'{"type": "cancel", "id": "1"}', "bad_message", None, "binary"),
        ("{}", "unknown_type", None, ""),
        ('{"type": 1, "id": "7"}', "unknown_type", "7", ""),
        ('{"type": "welcome", "id": "7"}', "unknown_type", "7", ""),
        (without("prefix"), "invalid", "7", "prefix"),
        (without("document"), "invalid", "7", "document"),
        (without("id"), "invalid", None, "id"),
        (altered(id=7), "invalid", None, "id"),
        (altered(id=""), "invalid", "", "id"),
        (altered(id="x" * 257), "invalid", None, "id"),
        (altered(document=""), "invalid", "7", "document"),
        (altered(document="x" * 4097), "invalid", "7", "document"),
        (altered(prefix=None), "invalid", "7", "prefix"),
        (altered(suffix=["a"]), "invalid", "7", "suffix"),
        (altered(mode="paragraph"), "invalid", "7", "mode"),
        (altered(candidates=0), "invalid", "7", "candidates"),
        (altered(candidates=True), "invalid", "7", "candidates"),
        (altered(candidates=10**30), "invalid", "7", "candidates"),
        (altered(snippets="none"), "invalid", "7", "snippets"),
        (altered(snippets=[{"path": "b.py"}]), "invalid", "7", "text"),
        (altered(snippets=[1]), "invalid", "7", "snippets"),
        ('{"type": "feedback", "id": "7", "event": "liked"}', "invalid", "7", "event"),
        ('{"type": "cancel"}', "invalid", None, "id"),
    ],
)
async def test_bad_frame(server: Server, frame: str | bytes, code: str, id: str | None, named: str) -> None:
    """A frame that is no message is answered with what is wrong, one line, and with its id if it has one."""
    async with peer(server) as one:
        await one.raw(frame)
        error = await one.next()
        assert (error["type"], error["code"], error["id"]) == ("error", code, id)
        assert named in error["message"]
        assert "\n" not in error["message"]
        assert (await one.ask("after")).finish == "stop"


async def test_frame_over_limit(start_server: StartServer) -> None:
    """A frame over the limit closes its connection with 1009 and a reason; others do not notice."""
    server = await start_server(max_frame_bytes=10_000)
    async with peer(server) as other, peer(server) as one:
        await one.complete("1", "x" * 9_000)
        assert (await one.answer("1")).finish == "stop"
        await one.complete("2", "x" * 11_000)
        assert await one.closed() == 1009
        assert one.socket.close_reason
        assert (await other.ask("1")).finish == "stop"


@pytest.mark.parametrize(
    ("prefix", "suffix"),
    [
        ("", ""),
        ("", "def f():\n    pass\n"),
        ("def f():\n    pass\n", ""),
        ("x = '" + "a" * 200_000, ""),
        ("x = 1\n" * 50_000, "y = 2\n" * 50_000),
        ("\x00" * 10, "\x00"),
        ("a\r\nb\rc", "\nd\r"),
        ("▁<PRE> ▁<SUF> ▁<MID> <EOT> </s>", "<|fim_prefix|>"),
        ("👩‍👩‍👧" * 500, "é" * 500),
        ("\n" * 100_000, "\n" * 100_000),
        ("\ufeff\u2028\u202e", "\u0085"),
    ],
    ids=[
        "empty",
        "at the start",
        "at the end",
        "one long line",
        "beyond the limits",
        "NUL",
        "line ends",
        "sentinels",
        "emoji",
        "empty lines",
        "odd separators",
    ],
)
async def test_odd_text(server: Server, prefix: str, suffix: str) -> None:
    """Any text gets its one answer."""
    async with peer(server) as one:
        answer = await one.ask("1", prefix, suffix=suffix)
    assert answer.last["type"] == "done"


async def test_sentinels_stay_text(server: Server, scripted: ScriptedEngine) -> None:
    """Sentinels in the user's text do not become sentinel ids."""
    async with peer(server) as one:
        await one.ask("1", "x = '▁<PRE>▁<MID>▁<EOT>'\n", suffix="▁<SUF>")
    ids = scripted.requests[0].prompt_token_ids
    assert [id for id in ids if 32007 <= id <= 32010].count(32009) == 1
    assert 32010 not in ids


async def test_lone_surrogates(server: Server) -> None:
    """Half a character, which JavaScript may send as an escape, is read as U+FFFD."""
    async with peer(server) as one:
        await one.raw(altered(deadline_ms=5000).replace("x = ", "x = \\ud83d"))
        assert (await one.answer("7")).last["type"] == "done"


async def test_invalid_utf8(server: Server) -> None:
    """A text frame that is not UTF-8 is no WebSocket message: 1007, as RFC 6455 has it."""
    async with peer(server) as other, peer(server) as one:
        await one.socket.send(b"\xff\xfe", text=True)
        assert await one.closed() == 1007
        assert await other.is_alive()


@pytest.mark.parametrize("kind", ["nonsense", "cancel"])
async def test_flood(server: Server, kind: str) -> None:
    """A client that sends without pause does not keep others waiting."""
    raw = RawClient(server.port)
    await raw.open()
    burst = frame(type=kind, id="1") * 5000

    async def flood() -> None:
        while True:
            await raw.write(burst)

    tasks = [asyncio.create_task(flood()), asyncio.create_task(raw.discard())]
    try:
        async with peer(server) as other:
            await asyncio.sleep(0.1)  # so that it is well under way
            for number in range(5):
                answer = await other.ask(str(number))
                assert answer.finish == "stop"
                assert answer.last["timings"]["total_ms"] < 2000  # far from a turn each for all that was sent
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raw.close()


TYPES = ["complete", "prewarm", "cancel", "feedback", "admin", "hello", "status"]
FIELDS = [
    "id",
    "document",
    "prefix",
    "suffix",
    "path",
    "snippets",
    "deadline_ms",
    "mode",
    "candidates",
    "event",
]


async def test_fuzz_connection(server: Server) -> None:
    """Random JSON, text and bytes leave the connection alive and the server well."""
    rng = random.Random(20)
    words: list[Any] = [
        *TYPES,
        "",
        "a",
        "\x00",
        "é" * 10,
        -1,
        0,
        2**63,
        1e300,
        None,
        True,
        [],
        {},
        [[]],
        [{}],
        ["a"],
    ]

    def value(depth: int = 0) -> Any:
        choice = rng.random()
        if choice < 0.1 and depth < 3:
            return [value(depth + 1) for _ in range(rng.randrange(4))]
        if choice < 0.2 and depth < 3:
            return {str(rng.choice(FIELDS)): value(depth + 1) for _ in range(rng.randrange(4))}
        return rng.choice(words)

    async with peer(server) as one:
        for round_ in range(20):
            for _ in range(25):
                kind = rng.random()
                if kind < 0.2:
                    await one.raw(rng.randbytes(rng.randrange(100)))
                elif kind < 0.4:
                    await one.raw("".join(map(chr, rng.choices(range(0xD800), k=rng.randrange(100)))))
                elif kind < 0.6:
                    await one.raw(orjson.dumps(value()).decode())
                else:
                    body = COMPLETE | {"deadline_ms": 50, "type": rng.choice(TYPES)}
                    body |= {rng.choice(FIELDS): value() for _ in range(rng.randrange(3))}
                    await one.raw(orjson.dumps(body).decode())
            assert await one.is_alive(), round_
        assert (await one.ask("after")).finish == "stop"
