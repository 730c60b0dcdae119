"""The model asked through the server, and alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from codeserve.bench.quality.ask import Question, RawModel, ServedModel
from codeserve.client import Client
from codeserve.completion.fim import fim_format
from codeserve.completion.tokens import Tokenizer
from codeserve.protocol import Snippet
from tests.scripted_engine import Length, ScriptedEngine
from tests.scripted_server import Peer, ScriptedServer, done

MODEL = Path(__file__).parents[3] / "models" / "mini-codellama"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load(MODEL)


@pytest.fixture
def engine(tokenizer: Tokenizer) -> ScriptedEngine:
    return ScriptedEngine(tokenizer)


def raw(engine: ScriptedEngine, *, context_tokens: int = 4096, format: str = "codellama-spm") -> RawModel:
    """The model alone."""
    return RawModel(
        engine,
        engine.tokenizer,
        fim_format(format, engine.tokenizer),
        context_tokens=context_tokens,
        max_tokens={"line": 64, "block": 128, "auto": 128},
    )


async def test_raw_line_ends_at_the_newline(engine: ScriptedEngine) -> None:
    """In line mode the newline ends generation, and the text is what is before it, indentation included."""
    engine.play("    return x\n    y")
    answer = await raw(engine)(Question("def f(x):\n", "z\n", mode="line"))
    assert answer.text == "    return x"
    assert engine.tokenizer.newline_id in engine.requests[0].stop_token_ids
    assert engine.requests[0].max_tokens == 64


async def test_raw_block_is_all_there_is(engine: ScriptedEngine) -> None:
    """In block mode the whole output counts, up to the model's own end or the budget."""
    engine.play("    a\n\n\n    b\n", Length())
    answer = await raw(engine)(Question("def f(x):\n", "z\n", mode="block"))
    assert answer.text == "    a\n\n\n    b\n"
    assert answer.outcome == "length"
    assert engine.tokenizer.newline_id not in engine.requests[0].stop_token_ids


async def test_raw_prompt_is_the_published_one(engine: ScriptedEngine) -> None:
    """Both orders, as Meta's code puts them together."""
    await raw(engine)(Question("a = 1\n", "b\n", mode="line"))
    await raw(engine, format="codellama-psm")(Question("a = 1\n", "b\n", mode="line"))
    prefix, suffix = engine.tokenizer.encode("a = 1\n"), engine.tokenizer.encode_infilling("b\n")
    assert engine.requests[0].prompt_token_ids == [1, 32007, 32008, *suffix, 32009, *prefix]
    assert engine.requests[1].prompt_token_ids == [1, 32007, *prefix, 32008, *suffix, 32009]


async def test_raw_prompt_fits(engine: ScriptedEngine) -> None:
    """Of a long document the text nearest to the cursor stays, a quarter of it behind."""
    model = raw(engine, context_tokens=512)
    await model(Question("x = 1\n" * 900 + "near = ", "close\n" + "y\n" * 900, mode="line"))
    ids = engine.requests[0].prompt_token_ids
    assert len(ids) == 512 - 64
    text = engine.tokenizer.decode_infilling(ids)
    assert text.endswith("near = ")
    assert "close" in text


async def test_served() -> None:
    """The server's text, outcome, tokens and confidence; each question is a document of its own."""
    asked: list[dict[str, Any]] = []

    async def script(peer: Peer) -> None:
        await peer.welcome()
        try:
            while True:
                body = await peer.receive("complete")
                asked.append(body)
                await peer.send(**done(body["id"], "x = 1"), confidence=-0.25)
        except ConnectionClosed:
            return

    question = Question("p", "s", "a.py", "python", "block", (Snippet("b.py", "y"),))
    async with ScriptedServer(script) as server, Client(server.url) as client:
        await client.wait_ready()
        model = ServedModel(client, deadline_ms=5_000, min_confidence=-2.0)
        answers = [await model(question), await model(question)]
    assert [(one.text, one.outcome, one.output_tokens, one.confidence) for one in answers] == [
        ("x = 1", "stop", 4, -0.25)
    ] * 2
    assert asked[0]["document"] != asked[1]["document"]
    assert asked[0]["snippets"] == [{"path": "b.py", "text": "y"}]
    assert (asked[0]["deadline_ms"], asked[0]["mode"], asked[0]["min_confidence"]) == (5_000, "block", -2.0)
    assert (asked[0]["path"], asked[0]["language"]) == ("a.py", "python")


async def test_served_error() -> None:
    """An error is an answer without text, by its code."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        body = await peer.receive("complete")
        await peer.send(type="error", id=body["id"], code="overloaded", message="too much to do")
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        await client.wait_ready()
        answer = await ServedModel(client, deadline_ms=5_000)(Question("p", "s"))
    assert (answer.text, answer.outcome) == ("", "overloaded")
