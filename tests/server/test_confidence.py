from __future__ import annotations

import pytest

from codeserve.server.app import Server
from tests.scripted_engine import Ids, Pause, ScriptedEngine, Stall, Sure
from tests.server.conftest import StartServer
from tests.server.peer import peer


async def test_told_when_asked_for(server: Server, scripted: ScriptedEngine) -> None:
    """With a least confidence in the request, done says the mean over the tokens of the text."""
    scripted.play(Sure(-0.5), "x", Sure(-1.5), " =")
    async with peer(server) as one:
        answer = await one.ask("1", min_confidence=-100)
    assert answer.text == "x ="
    assert answer.last["confidence"] == pytest.approx(-1.0)


async def test_not_asked_of_the_engine_in_vain(server: Server, scripted: ScriptedEngine) -> None:
    """Without a threshold the engine is not made to compute log-probabilities, and none are told."""
    async with peer(server) as one:
        answer = await one.ask("1")
    assert [request.logprobs for request in scripted.requests] == [False]
    assert answer.last["confidence"] is None


async def test_unsure_is_no_suggestion(server: Server, scripted: ScriptedEngine) -> None:
    """Below the threshold nothing is suggested, nothing was streamed, and the figure is still told."""
    scripted.play(Sure(-2.0), "x = 1\n    y = 2\n")
    async with peer(server) as one:
        answer = await one.ask("1", min_confidence=-1.0)
    assert (answer.text, answer.finish, answer.streamed) == ("", "no_suggestion", "")
    assert answer.last["confidence"] == pytest.approx(-2.0)


async def test_kept_back_until_sure(server: Server, scripted: ScriptedEngine) -> None:
    """A doubtful beginning is kept back, and given once what follows has made up for it."""
    scripted.play(Sure(-3.0), "x", Sure(-0.1), " = compute(a, b, c)\n")
    async with peer(server) as one:
        answer = await one.ask("1", min_confidence=-1.0)
    assert answer.text == answer.streamed == "x = compute(a, b, c)"


async def test_given_at_the_end(server: Server, scripted: ScriptedEngine) -> None:
    """What was kept back and passes only without its cut end is streamed before the answer."""
    scripted.play(Sure(-0.1), "a = f(x)", Sure(-9.0), "\nreturn dubious(things)", Stall())
    async with peer(server) as one:
        answer = await one.ask("1", "a = b\n", mode="block", min_confidence=-1.0, deadline_ms=200)
    assert answer.text == "a = f(x)"
    assert answer.streamed.startswith(answer.text)


async def test_tokens_that_were_cut_do_not_count(server: Server, scripted: ScriptedEngine) -> None:
    """Only the tokens of the text that is shown are measured."""
    scripted.play(Sure(-0.2), "a", Sure(-9.0), "\n")
    async with peer(server) as one:
        answer = await one.ask("1", mode="line", min_confidence=-1.0)
    assert answer.text == "a"
    assert answer.last["confidence"] == pytest.approx(-0.2)


async def test_servers_own_threshold(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """The server's threshold holds for requests that name none; a request's own wins."""
    scripted.play(Sure(-2.0), "x = 1\n")
    server = await start_server(min_confidence=-1.0)
    async with peer(server) as one:
        assert (await one.ask("1")).finish == "no_suggestion"
        assert (await one.ask("2", min_confidence=-3)).text == "x = 1"


async def test_candidates_are_judged_one_by_one(server: Server, scripted: ScriptedEngine) -> None:
    """Of several candidates the unsure ones are left out."""
    scripted.play_next(Sure(-0.1), "sure()\n")
    scripted.play_next(Sure(-5.0), Pause(0.01), "unsure()\n")
    async with peer(server) as one:
        answer = await one.ask("1", candidates=2, min_confidence=-1.0)
    assert answer.last["candidates"] == ["sure()"]


async def test_a_sure_candidate_in_place_of_the_greedy_text(server: Server, scripted: ScriptedEngine) -> None:
    """Where the greedy text is unsure and nothing was sent of it, the first sure candidate is the text."""
    scripted.play_next(Sure(-5.0), "unsure()\n")
    scripted.play_next(Sure(-6.0), "unsure_too()\n")
    scripted.play_next(Sure(-0.1), Pause(0.01), "sure()\n")
    async with peer(server) as one:
        answer = await one.ask("1", candidates=3, min_confidence=-1.0)
    assert (answer.text, answer.streamed, answer.finish) == ("sure()", "sure()", "stop")
    assert answer.last["candidates"] == ["sure()"]
    assert answer.last["confidence"] == pytest.approx(-0.1)


async def test_no_candidates_without_a_text(server: Server, scripted: ScriptedEngine) -> None:
    """Where text was sent that turned out unsure there is no suggestion, and no other one either."""
    scripted.play_next(Sure(-0.1), "x = f(", Sure(-9.0), "what, ever)\n")
    scripted.play_next(Sure(-0.1), Pause(0.01), "sure()\n")
    async with peer(server) as one:
        answer = await one.ask("1", candidates=2, min_confidence=-1.0)
    assert (answer.text, answer.finish, answer.last["candidates"]) == ("", "no_suggestion", [])
    assert answer.streamed


async def test_an_empty_greedy_text(server: Server, scripted: ScriptedEngine) -> None:
    """An alternative is the text where the greedy one is empty; without a threshold too."""
    scripted.play_next("\n \n")
    scripted.play_next(Pause(0.01), "show(values)\n")
    async with peer(server) as one:
        answer = await one.ask("1", mode="line", candidates=2)
    assert answer.text == answer.streamed == "show(values)"
    assert answer.last["candidates"] == ["show(values)"]


async def test_half_a_character_counts_with_the_rest(server: Server, scripted: ScriptedEngine) -> None:
    """The tokens of one character's bytes are all measured."""
    ids = [scripted.tokenizer.token_id(f"<0x{byte:02X}>") for byte in "🦆".encode()]
    scripted.play(Sure(-1.0), Ids(tuple(id for id in ids if id is not None)), "\n")
    async with peer(server) as one:
        answer = await one.ask("1", min_confidence=-100)
    assert answer.text == "🦆"
    assert answer.last["confidence"] == pytest.approx(-1.0)


@pytest.mark.parametrize("value", [1, -101, "-1", True])
async def test_bad_threshold(server: Server, value: object) -> None:
    """A threshold out of range or of the wrong type is refused by name."""
    async with peer(server) as one:
        answer = await one.ask("1", min_confidence=value)
    assert answer.code == "invalid"
    assert "min_confidence" in answer.last["message"]
