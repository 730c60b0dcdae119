"""Developers typing against a scripted server."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from websockets.exceptions import ConnectionClosed

from codeserve.bench.lengths import LINE_LENGTHS
from codeserve.bench.load import LoadPlan, run_load
from codeserve.bench.report import tables
from codeserve.bench.typist import Habits, Quota
from codeserve.client import ConfigError, ConnectFailed
from codeserve.protocol import MIN_CONFIDENCE
from tests.scripted_server import Peer, ScriptedServer, done

LINES = "".join(f"value_{number} = {number}\n" for number in range(4000))
HABITS = Habits(context_tokens=500, pause_s=0, navigate=0, type_on=0)


class Answers:
    """Answers each request with the text that the file has there, and keeps the requests."""

    def __init__(self, delay_s: float = 0.0, chars_per_token: float = 2.0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.feedback: list[dict[str, Any]] = []
        self._delay_s = delay_s
        self._chars_per_token = chars_per_token

    async def __call__(self, peer: Peer) -> None:
        await peer.welcome()
        try:
            while True:
                body = await peer.receive()
                if body["type"] == "feedback":
                    self.feedback.append(body)
                tokens = int(
                    (len(body.get("prefix", "")) + len(body.get("suffix", ""))) / self._chars_per_token
                )
                if body["type"] == "prewarm":
                    await peer.send(**{**done(body["id"], finish="prewarmed"), "tokens": {"prompt": tokens}})
                if body["type"] != "complete":
                    continue
                self.requests.append(body)
                await asyncio.sleep(self._delay_s)
                rest = LINES[LINES.index(body["prefix"]) + len(body["prefix"]) :]
                answer = done(body["id"], rest.partition("\n")[0])
                answer["tokens"] = {"prompt": tokens, "cached": tokens - 10, "output": 4}
                await peer.send(**answer)
        except ConnectionClosed:
            return


@pytest.fixture
def plan(tmp_path: Path) -> LoadPlan:
    """A short run over one file."""
    (tmp_path / "lines.py").write_text(LINES)
    return LoadPlan(habits=HABITS, seconds=30, requests=40, files=[f"{tmp_path}/*.py"])


async def run(plan: LoadPlan, answers: Answers) -> dict[str, Any]:
    """Run a plan against a scripted server."""
    async with ScriptedServer(answers) as server:
        return await run_load(server.url, plan)


async def test_typing_extends_the_prefix(plan: LoadPlan) -> None:
    """In one place each request's prefix begins with the one before, and the suffix stays."""
    answers = Answers()
    report = await run(attrs.evolve(plan, requests=10), answers)
    for before, after in pairwise(answers.requests):
        assert after["prefix"].startswith(before["prefix"])
        assert len(after["prefix"]) > len(before["prefix"])
        assert after["suffix"] == before["suffix"]
        assert after["document"] == before["document"]
    figures = report["figures"]
    assert (figures["cold"]["requests"], figures["warm"]["requests"]) == (1, 9)
    assert figures["outcomes"] == {"stop": 10}
    assert figures["warm"]["cached_share"] > 0.9


async def test_matching_completions_are_sometimes_accepted(plan: LoadPlan) -> None:
    """A completion that is the file's own text is taken with its probability, and feedback says so."""
    answers = Answers()
    report = await run(attrs.evolve(plan, habits=attrs.evolve(HABITS, accept=1.0)), answers)
    accepted = [body for body in answers.feedback if body["event"] == "accepted"]
    assert report["figures"]["accepted"] > 10
    assert len(accepted) >= report["figures"]["accepted"] - 1  # the last one may still be on its way
    never = await run(attrs.evolve(plan, habits=attrs.evolve(HABITS, accept=0.0)), Answers())
    assert never["figures"]["accepted"] == 0


async def test_confidence(plan: LoadPlan) -> None:
    """The server's own setting holds, as for an editor, unless every text is wanted as it is made."""
    as_set, every = Answers(), Answers()
    await run(attrs.evolve(plan, requests=4), as_set)
    assert {body["min_confidence"] for body in as_set.requests} == {None}
    await run(attrs.evolve(plan, requests=4, habits=attrs.evolve(HABITS, every_text=True)), every)
    assert {body["min_confidence"] for body in every.requests} == {MIN_CONFIDENCE}


async def test_navigation_makes_cold_requests_in_other_documents(plan: LoadPlan) -> None:
    """Who always goes elsewhere has cold requests only."""
    answers = Answers()
    report = await run(attrs.evolve(plan, habits=attrs.evolve(HABITS, navigate=1.0)), answers)
    assert report["figures"]["cold"]["requests"] == 40
    assert len({body["document"] for body in answers.requests}) == 40


async def test_prompts_come_to_the_size_asked_for(plan: LoadPlan) -> None:
    """What the server counts in a place is used to make it the right size, whatever its tokens are like."""
    plan = attrs.evolve(plan, habits=attrs.evolve(HABITS, navigate=1.0))
    for chars_per_token in (2.0, 4.0):
        report = await run(plan, Answers(chars_per_token=chars_per_token))
        assert report["figures"]["all"]["prompt_tokens"]["p50"] == pytest.approx(500, rel=0.1)


async def test_typing_on_supersedes(plan: LoadPlan) -> None:
    """Who types on before a slow answer has superseded requests, which are counted as such."""
    plan = attrs.evolve(plan, requests=6, habits=attrs.evolve(HABITS, type_on=1.0))
    report = await run(plan, Answers(delay_s=0.2))
    assert report["figures"]["outcomes"] == {"stop": 3, "superseded": 3}


async def test_several_developers_work_at_once(plan: LoadPlan) -> None:
    """Each developer has a connection and documents of its own."""
    answers = Answers()
    async with ScriptedServer(answers) as server:
        report = await run_load(server.url, attrs.evolve(plan, devs=4))
        assert server.connections == 4
    assert {body["document"].split(":")[1] for body in answers.requests} == {"0", "1", "2", "3"}
    assert report["figures"]["requests"] == 40


async def test_errors_are_counted(plan: LoadPlan) -> None:
    """Refused requests are counted by code, and the run goes on."""

    async def refuse(peer: Peer) -> None:
        await peer.welcome()
        try:
            while True:
                body = await peer.receive()
                await peer.send(
                    type="error", id=body["id"], code="overloaded", message="busy", retry_after_ms=1
                )
        except ConnectionClosed:
            return

    async with ScriptedServer(refuse) as server:
        report: dict[str, Any] = await run_load(server.url, attrs.evolve(plan, requests=5))
    assert report["figures"]["overloaded"] == 5
    assert report["figures"]["all"]["within_budget"] == 0.0


async def test_report_is_json_and_a_table(plan: LoadPlan) -> None:
    """The report names the machine and versions, is plain JSON, and makes tables."""
    report = await run(plan, Answers())
    assert orjson.loads(orjson.dumps(report))["model"] == "scripted"
    assert report["machine"]["cores"] >= 1
    assert report["server_peak_rss_bytes"] > 0
    assert report["server_counters"] is report["tokens_wasted"] is None  # this server has no metrics
    assert [table.row_count > 5 for table in tables(report)] == [True, True]


async def test_other_machines_are_refused(plan: LoadPlan) -> None:
    """A server elsewhere is left alone unless the user insists."""
    with pytest.raises(ConfigError, match="--allow-remote"):
        await run_load("ws://192.0.2.1:8760", plan)


async def test_no_server(plan: LoadPlan) -> None:
    """Without a server the run does not begin."""
    async with ScriptedServer(Answers()) as server:
        url = server.url
    with pytest.raises(ConnectFailed, match="no server at"):
        await run_load(url, plan)


def test_quota_is_bounded_in_count_and_time() -> None:
    """No request is granted after the last one or past the end."""
    quota = Quota(2, time.monotonic() + 100)
    assert [quota.take() for _ in range(3)] == [True, True, False]
    assert not Quota(5, time.monotonic() - 1).take()


async def test_fixed_lengths(plan: LoadPlan) -> None:
    """Outputs get lengths of real lines, prompts get sizes in a range, and one prewarm measures them."""
    answers = Answers()
    habits = attrs.evolve(HABITS, context_tokens_to=900, fixed_lengths=True, navigate=0.5)
    await run(attrs.evolve(plan, habits=habits, requests=60), answers)
    assert {body["max_tokens"] for body in answers.requests} <= set(LINE_LENGTHS)
    assert len({body["max_tokens"] for body in answers.requests}) > 10
    places = {body["document"]: len(body["prefix"]) + len(body["suffix"]) for body in answers.requests}
    assert len(places) > 10
    assert 1.4 < max(places.values()) / min(places.values()) < 2.4


async def test_model_ends_its_own_text(plan: LoadPlan) -> None:
    """Without fixed lengths the server's own limit holds."""
    answers = Answers()
    await run(attrs.evolve(plan, requests=3), answers)
    assert [body["max_tokens"] for body in answers.requests] == [None] * 3


async def test_ramp_is_not_counted(plan: LoadPlan) -> None:
    """What is asked while the developers begin leaves no sample."""
    answers = Answers(delay_s=0.01)
    counted = attrs.evolve(plan, requests=10_000, seconds=0.4, ramp_s=0.4)
    report = await run(counted, answers)
    assert 0 < report["figures"]["requests"] < len(answers.requests)
    assert 0.3 < report["seconds"] < 2
