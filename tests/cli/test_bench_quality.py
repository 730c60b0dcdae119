"""`codeserve bench quality` and `bench heldout`."""

from __future__ import annotations

from pathlib import Path

import orjson
from websockets.exceptions import ConnectionClosed

from codeserve.bench.quality.heldout import read_packages
from tests.cli.command import codeserve
from tests.scripted_server import Peer, ScriptedServer, done


async def silent(peer: Peer) -> None:
    """A server that has nothing to suggest."""
    await peer.welcome()
    try:
        while True:
            body = await peer.receive("complete")
            await peer.send(**done(body["id"], "", "no_suggestion"))
    except ConnectionClosed:
        return


async def test_report_table_and_cases(tmp_path: Path) -> None:
    """The report is printed as a table and written as JSON with its command; every case goes to a file."""
    report, cases = tmp_path / "report.json", tmp_path / "cases.jsonl"
    async with ScriptedServer(silent) as server:
        result = await codeserve(
            *("bench", "quality", "single-line", "--url", server.url, "--limit", "2"),
            *("--output", str(report), "--cases", str(cases)),
        )
    assert result.status == 0, result.err
    assert "pass@1" in result.out
    assert "single-line: 2" in result.err
    body = orjson.loads(report.read_bytes())
    assert body["command"].startswith("codeserve bench quality single-line")
    assert body["parts"]["single-line"]["models"]["served"]["no_text"] == 2
    assert body["plan"]["parts"] == ["single-line"]
    assert len(cases.read_bytes().splitlines()) == 2


async def test_json(tmp_path: Path) -> None:
    """With --json standard output is the report alone; a folder can stand for the held-out files."""
    (tmp_path / "a.py").write_text("".join(f"value_{n} = {n}\n" for n in range(50)))
    async with ScriptedServer(silent) as server:
        result = await codeserve(
            *("bench", "quality", "lines", "--json", "--url", server.url, "--limit", "2"),
            *("--corpus", str(tmp_path)),
        )
    assert orjson.loads(result.out)["parts"]["lines"]["models"]["served"]["exact_match"]["n"] == 2


async def test_what_cannot_be(tmp_path: Path) -> None:
    """Wrong options are one line each, at once."""
    for options, message in (
        (("--raw-format", "codellama-psm"), "it needs --spawn"),
        (("--corpus", str(tmp_path / "none")), "is no folder"),
        (("--output", str(tmp_path / "none" / "x.json")), "cannot be written"),
        (("--spawn", "--model", "none", "single-line"), "none"),
        (("--url", "ws://127.0.0.1:9", "single-line"), "127.0.0.1:9"),
    ):
        result = await codeserve("bench", "quality", *options)
        assert result.status == 1, options
        assert message in result.err
        assert result.err.count("\n") == 1


async def test_heldout_that_is_there_is_not_fetched(tmp_path: Path) -> None:
    """With all packages in the cache nothing is asked of a registry."""
    for package in read_packages():
        (tmp_path / "codeserve" / "heldout" / package.slug).mkdir(parents=True)
    result = await codeserve("bench", "heldout", XDG_CACHE_HOME=str(tmp_path), PATH="")
    assert result.status == 0, result.err
    assert "0 of them new" in result.out
