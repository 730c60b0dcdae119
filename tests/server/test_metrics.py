from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from codeserve.server.app import Server
from tests.scripted_engine import Crash, Fault, ScriptedEngine, Stall
from tests.server.conftest import StartServer
from tests.server.peer import peer, started, until
from tests.server.test_http import get

Samples = dict[str, float]


async def samples(server: Server) -> Samples:
    """All samples by name and labels."""
    found: Samples = {}
    for family in text_string_to_metric_families((await get(server, "/metrics"))[2]):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found[
                f"codeserve_{sample.name.removeprefix('codeserve_')}" + (f"{{{labels}}}" if labels else "")
            ] = sample.value
    return found


async def test_completion(server: Server, scripted: ScriptedEngine) -> None:
    """A completion is counted with its tokens and times."""
    scripted.prompt_cached = 3
    scripted.play("a + b\n")
    async with peer(server) as one:
        answer = await one.ask("1", "x = ", mode="line")
        found = await samples(server)
    assert found["codeserve_requests_total{finish=stop}"] == 1
    assert found["codeserve_prompt_tokens_total"] == answer.last["tokens"]["prompt"]
    assert found["codeserve_cached_tokens_total"] == 3
    assert found["codeserve_output_tokens_total"] == answer.last["tokens"]["output"]
    for name in ("queue", "ttft", "request", "tpot"):
        assert found[f"codeserve_{name}_seconds_count"] == 1
    assert found["codeserve_connections"] == 1
    assert found["codeserve_live_sequences"] == 0
    assert not [name for name in found if "wasted_total" in name and found[name]]


async def test_wasted(server: Server, scripted: ScriptedEngine) -> None:
    """Tokens whose text nobody got are counted by why."""
    scripted.play("abc", Stall())
    async with peer(server) as other:
        async with peer(server) as one:
            for id in ("superseded", "cancelled", "disconnected"):
                await one.complete(id)
                assert (await one.next())["type"] == "delta"
            await one.complete("new", document="superseded")
            assert (await one.next())["finish"] == "superseded"
            await one.send("cancel", id="cancelled")
            await one.answer("cancelled")
        await until(lambda: not scripted.live)
        assert (await other.ask("deadline", deadline_ms=100)).finish == "deadline"
        scripted.play(" \n", "\n" * 5)
        assert (await other.ask("nothing")).finish == "no_suggestion"
    found = await samples(server)
    for reason in ("superseded", "cancelled", "disconnected", "deadline", "no_suggestion"):
        assert found[f"codeserve_tokens_wasted_total{{reason={reason}}}"] > 0, reason
        assert found[f"codeserve_empty_answers_total{{reason={reason}}}"] >= 1, reason


async def test_errors(server: Server, scripted: ScriptedEngine) -> None:
    """Errors are counted by code, and a completion that was refused as an empty answer."""
    scripted.play_next("a", Fault(""))
    scripted.play_next("a", Crash())
    async with peer(server) as one:
        await one.raw("nonsense")
        await one.ask("1")
        await one.ask("2")
        await one.ask("3")
    found = await samples(server)
    assert found["codeserve_errors_total{code=bad_message}"] == 1
    assert found["codeserve_errors_total{code=internal}"] == 1
    assert found["codeserve_errors_total{code=unavailable}"] == 2
    assert found["codeserve_empty_answers_total{reason=unavailable}"] == 2
    assert found["codeserve_tokens_wasted_total{reason=error}"] == 2


async def test_prewarm(server: Server) -> None:
    """A prewarm counts as one, its token as wasted, and its times in no histogram."""
    async with peer(server) as one:
        await one.send("prewarm", id="1", document="a", prefix="x")
        await one.answer("1")
    found = await samples(server)
    assert found["codeserve_requests_total{finish=prewarmed}"] == 1
    assert found["codeserve_tokens_wasted_total{reason=prewarmed}"] == 1
    assert found["codeserve_request_seconds_count"] == 0
    assert "codeserve_empty_answers_total{reason=prewarmed}" not in found


async def test_prewarms_that_come_to_nothing(start_server: StartServer, scripted: ScriptedEngine) -> None:
    """However a prewarm ends, it is no completion that brought no text, or took long."""
    server = await start_server(max_pending=1)
    scripted.play(Stall())
    async with peer(server) as one:
        await one.send("prewarm", id="1", document="a", prefix="x")
        await until(lambda: bool(scripted.live))
        await one.send("prewarm", id="2", document="a", prefix="xy")
        assert (await one.answer("1")).finish == "superseded"
        await one.send("prewarm", id="3", document="b", prefix="x")
        assert (await one.answer("3")).code == "overloaded"
        await one.complete("4", document="a")
        assert (await one.answer("2")).finish == "superseded"
        await one.send("prewarm", id="5", document="a", prefix="x")
        assert (await one.answer("5")).finish == "superseded"
        found = await samples(server)
    assert found["codeserve_requests_total{finish=superseded}"] == 3
    assert found["codeserve_errors_total{code=overloaded}"] == 1
    assert found["codeserve_request_seconds_count"] == found["codeserve_queue_seconds_count"] == 0
    assert not [name for name in found if name.startswith("codeserve_empty_answers") and found[name]]


async def test_engine(server: Server, scripted: ScriptedEngine) -> None:
    """What the engine itself counts is there as it stands."""
    scripted.tokens_after_end, scripted.restarts = 7, 2
    found = await samples(server)
    assert found["codeserve_tokens_after_end_total"] == 7
    assert found["codeserve_engine_restarts_total"] == 2
    assert found["codeserve_engine_state{state=ready}"] == 1
    assert sum(value for name, value in found.items() if name.startswith("codeserve_engine_state")) == 1


async def test_live(server: Server, scripted: ScriptedEngine) -> None:
    """What runs at the moment shows as such."""
    scripted.play(Stall())
    async with peer(server) as one:
        await started(one, scripted, "1", candidates=2)
        assert (await samples(server))["codeserve_live_sequences"] == 2


async def test_feedback(server: Server) -> None:
    """Feedback is counted by event and not answered; with a number that cannot be it is refused."""
    async with peer(server) as one:
        await one.send("feedback", id="1", event="shown")
        await one.send("feedback", id="1", event="partially_accepted", characters=5)
        await one.send("feedback", id="1", event="accepted", characters=7)
        await one.send("feedback", id="1", event="accepted", characters=-(10**6))
        assert (await one.next())["code"] == "invalid"
        assert await one.is_alive()
    found = await samples(server)
    assert found["codeserve_feedback_total{event=shown}"] == 1
    assert found["codeserve_feedback_total{event=accepted}"] == 1
    assert found["codeserve_accepted_characters_total"] == 12
