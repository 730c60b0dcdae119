"""The server on the real engine with the bundled model."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import textwrap
from collections.abc import AsyncIterator

import pytest

from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.base import Engine
from codeserve.server.app import Server
from codeserve.settings import ServerSettings
from tests.server.peer import Peer, peer, until
from tests.server.test_metrics import samples

pytestmark = pytest.mark.engine

# Real Python, long enough to fill some blocks of the KV cache.
SOURCE = inspect.getsource(textwrap)
PATIENT = 30_000  # milliseconds: no test here is about speed


@pytest.fixture
async def server(engine: Engine, builder: PromptBuilder, tokenizer: Tokenizer) -> AsyncIterator[Server]:
    one = Server(ServerSettings(port=0, drain_seconds=0), engine, builder, tokenizer, owns_engine=False)
    await one.start()
    yield one
    await one.close()


async def started(one: Peer, id: str, **fields: object) -> None:
    """Begin a completion that goes on for a while, and wait for its first text."""
    fields = {"mode": "block", "deadline_ms": PATIENT} | fields
    await one.complete(id, f"# {id}\n" + ENDLESS, **fields)
    assert (await one.next())["type"] == "delta"


# A list of numbers goes on: the model finds no reason to end it before the output budget does.
ENDLESS = "def table():\n    return [\n" + "".join(f"        {n},\n" for n in range(100, 140))


async def test_completes_python(server: Server) -> None:
    """A real file is completed with code that compiles in its place."""
    prefix, suffix = (
        'def add(a, b):\n    """Return the sum of a and b."""\n    return ',
        "\n\n\nprint(add(1, 2))\n",
    )
    async with peer(server) as one:
        answer = await one.ask("1", prefix, suffix=suffix, language="python", deadline_ms=PATIENT)
    assert answer.finish in ("stop", "length")
    assert answer.text.strip()
    assert answer.streamed.startswith(answer.text)
    compile(prefix + answer.text + suffix, "<completed>", "exec")
    assert answer.last["tokens"]["prompt"] > 20
    assert answer.last["timings"]["queue_ms"] <= answer.last["timings"]["ttft_ms"]


async def test_typing_is_cached(server: Server) -> None:
    """The next keystroke finds nearly all of its prompt in the prefix cache."""
    prefix = SOURCE[:6000]
    async with peer(server) as one:
        await one.ask("1", prefix, suffix=SOURCE[6400:8000], mode="line", deadline_ms=PATIENT)
        second = await one.ask("2", SOURCE[:6003], suffix=SOURCE[6400:8000], mode="line", deadline_ms=PATIENT)
    tokens = second.last["tokens"]
    assert tokens["prompt"] > 1000
    assert tokens["cached"] / tokens["prompt"] > 0.9


async def test_prewarm_fills_the_cache(server: Server) -> None:
    """After a prewarm the completion of the same place finds its prompt in the cache."""
    place = {"document": "w.py", "prefix": "# warm\n" + SOURCE[:5000], "suffix": "\n# below\n"}
    async with peer(server) as one:
        await one.send("prewarm", id="1", **place)
        warm = await one.answer("1")
        assert (warm.finish, warm.text) == ("prewarmed", "")
        await one.complete("2", mode="line", **(place | {"deadline_ms": PATIENT}))
        tokens = (await one.answer("2")).last["tokens"]
    assert tokens["cached"] / tokens["prompt"] > 0.9


async def test_ends_abort(server: Server, engine: Engine) -> None:
    """Superseded, cancelled and abandoned requests end at once, and the engine stops working on them."""
    async with peer(server) as other:
        async with peer(server) as one:
            await started(one, "1", document="a.py")
            await one.complete("2", "x = 1\n", document="a.py", deadline_ms=PATIENT)
            assert (await one.answer("1")).finish == "superseded"
            assert (await one.answer("2")).last["type"] == "done"
            await started(one, "3")
            await one.send("cancel", id="3")
            assert (await one.answer("3")).finish == "cancelled"
            await started(one, "4")
        await until(lambda: server._context.admission.live == 0)
        found = await samples(server)
        for reason in ("superseded", "cancelled", "disconnected"):
            assert found[f"codeserve_tokens_wasted_total{{reason={reason}}}"] >= 1, reason
        # The step that was under way when they were aborted may still come out; nothing after it does.
        assert (await other.ask("5", deadline_ms=PATIENT)).last["type"] == "done"
        after = engine.tokens_after_end
        assert (await other.ask("6", "import os\n", deadline_ms=PATIENT)).last["type"] == "done"
        assert engine.tokens_after_end == after


async def test_deadline(server: Server) -> None:
    """A deadline of a millisecond is answered, and one amid the text gives whole lines."""
    async with peer(server) as one:
        answer = await one.ask("1", "# cold\n" + SOURCE, deadline_ms=1)
        assert (answer.finish, answer.text) == ("deadline", "")
        answer = await one.ask("2", ENDLESS, mode="block", deadline_ms=300)
    assert answer.finish == "deadline"
    whole = answer.streamed.split("\n")
    assert answer.text.split("\n") == whole[: answer.text.count("\n") + 1]
    assert answer.last["timings"]["total_ms"] >= 290  # a little before, for the way to the client


@pytest.mark.parametrize(
    ("prefix", "suffix"),
    [
        ("", ""),
        ("", SOURCE),
        (SOURCE, ""),
        ("x = '" + "a" * 200_000, "'\n"),
        (SOURCE * 20, SOURCE * 20),
        ("\x00\x00", "\x00"),
        ("▁<PRE> ▁<SUF>▁<MID><EOT></s>\n", "<EOT>"),
        ("# 👩‍👩‍👧 é 漢字\n" * 200, "\r\n\r"),
    ],
    ids=[
        "empty",
        "at the start",
        "at the end",
        "one long line",
        "beyond the limits",
        "NUL",
        "sentinels",
        "unicode",
    ],
)
async def test_any_text(server: Server, prefix: str, suffix: str) -> None:
    """Any text is completed, or has nothing suggested for it, and streams what it ends with."""
    async with peer(server) as one:
        answer = await one.ask("1", prefix, suffix=suffix, deadline_ms=PATIENT)
    assert answer.last["type"] == "done"
    assert answer.finish in ("stop", "length", "no_suggestion")
    assert answer.streamed.startswith(answer.text)
    for sentinel in ("<PRE>", "<MID>", "<EOT>", "<SUF>"):
        if sentinel not in prefix:
            assert sentinel not in answer.text


async def test_lone_surrogates(server: Server) -> None:
    """Half a character in the text is read as U+FFFD."""
    body = json.dumps(
        {"type": "complete", "id": "1", "document": "a", "prefix": "x = '\ud83d", "deadline_ms": PATIENT}
    )
    async with peer(server) as one:
        await one.raw(body)
        assert (await one.answer("1")).last["type"] == "done"


async def test_cancel_unknown(server: Server) -> None:
    """A thousand cancels of unknown ids do not disturb the request that is live."""
    async with peer(server) as one:
        await one.complete("1", "x = 1\ny = ", deadline_ms=PATIENT)
        for number in range(1000):
            await one.send("cancel", id=f"unknown {number}")
        assert (await one.answer("1")).finish in ("stop", "length", "no_suggestion")


async def test_clients_side_by_side(server: Server) -> None:
    """Several clients at a time, with the same ids, each get what they would get alone."""
    prefixes = [f"import {name}\n\nvalue = {name}." for name in ("os", "sys", "json", "re")]

    async def word(one: Peer, id: str, prefix: str) -> str:
        # The first word only: in a batch the last bits of the arithmetic may differ, and later words too.
        text = (await one.ask(id, prefix, mode="line", deadline_ms=PATIENT)).text
        return re.split(r"\W", text)[0]

    async def alone_on_a_connection(prefix: str) -> str:
        async with peer(server) as other:
            return await word(other, "1", prefix)

    async with peer(server) as one:
        alone = [await word(one, prefix, prefix) for prefix in prefixes]
    assert len(set(alone)) > 1
    assert await asyncio.gather(*map(alone_on_a_connection, prefixes)) == alone


async def test_candidates(server: Server) -> None:
    """Candidates are distinct texts, the greedy one first."""
    async with peer(server) as one:
        answer = await one.ask(
            "1", "import os\n\nvalue = os.", mode="line", candidates=3, deadline_ms=PATIENT
        )
    candidates = answer.last["candidates"]
    assert len(set(candidates)) == len(candidates) <= 3
    assert candidates[0] == answer.text != ""


async def test_same_text_again(server: Server) -> None:
    """A greedy completion is the same each time, cached or not."""
    async with peer(server) as one:
        texts = {
            (await one.ask(str(n), SOURCE[:3000], mode="line", deadline_ms=PATIENT)).text for n in range(3)
        }
    assert len(texts) == 1
