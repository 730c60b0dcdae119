"""`codeserve complete` in a process of its own, against a scripted server."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import codeserve
from tests.scripted_server import Peer, ScriptedServer, done

requests: list[dict[str, Any]] = []


async def add(peer: Peer) -> None:
    """Stream a completion whose final text is shorter than its deltas."""
    hello = await peer.welcome()
    request = await peer.receive("complete")
    requests.append({**request, "hello": hello})
    await peer.send(type="delta", id=request["id"], text="return ")
    await peer.send(type="delta", id=request["id"], text="a + b\n\n# more")
    answer = done(request["id"], "return a + b")
    if request["candidates"] > 1:
        answer["candidates"] = ["return a + b", "return b + a"]
    await peer.send(**answer)
    await peer.connection.wait_closed()


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A Python file with Windows line ends and a place to complete in line 2."""
    path = tmp_path / "add.py"
    path.write_bytes(b"def add(a, b):\r\n    \r\n\r\nprint(add(1, 2))\r\n")
    return str(path)


async def test_text_goes_to_stdout_and_summary_to_stderr(file: str) -> None:
    """Without a terminal, standard output holds the final text alone."""
    async with ScriptedServer(add) as server:
        result = await codeserve("complete", file, "--line", "2", "--url", server.url)
    assert (result.status, result.out) == (0, "return a + b\n")
    assert result.err.startswith("stop · first text")
    assert "100 prompt tokens (90 cached), 4 output" in result.err
    sent = requests[-1]
    assert sent["prefix"] == "def add(a, b):\r\n    "
    assert sent["suffix"] == "\r\n\r\nprint(add(1, 2))\r\n"
    assert sent["document"] == Path(file).as_uri()
    assert (sent["mode"], sent["deadline_ms"]) == ("auto", 5000)
    assert sent["min_confidence"] == -100


async def test_json_is_one_object(file: str) -> None:
    """--json gives text, finish, timings, tokens with the cached ones, and the model."""
    async with ScriptedServer(add) as server:
        result = await codeserve(
            "complete",
            file,
            "--line",
            "2",
            "--column",
            "3",
            "--url",
            server.url,
            "--json",
            "--candidates",
            "2",
        )
    body = json.loads(result.out)
    assert (result.status, result.err) == (0, "")
    assert (body["text"], body["finish"], body["model"]) == ("return a + b", "stop", "scripted")
    assert body["candidates"] == ["return a + b", "return b + a"]
    assert body["tokens"]["cached"] == 90
    assert body["timings"] == {"queue_ms": 0.5, "ttft_ms": 5.0, "total_ms": 9.0}
    assert 0 < body["client"]["ttft_ms"] <= body["client"]["total_ms"]
    assert requests[-1]["prefix"] == "def add(a, b):\r\n  "


async def test_standard_input_and_options(file: str) -> None:
    """- reads standard input, and mode and deadline are passed on."""
    async with ScriptedServer(add) as server:
        result = await codeserve(
            "complete",
            "-",
            "--line",
            "1",
            "--mode",
            "line",
            "--deadline-ms",
            "50",
            stdin=b"x = ",
            CODESERVE_URL=server.url,
        )
    assert (result.status, result.out) == (0, "return a + b\n")
    assert (requests[-1]["prefix"], requests[-1]["document"], requests[-1]["path"]) == ("x = ", "stdin:", "")
    assert (requests[-1]["mode"], requests[-1]["deadline_ms"]) == ("line", 50)


async def test_token_comes_from_a_file_or_the_environment(file: str, tmp_path: Path) -> None:
    """The first line of the token file, else CODESERVE_TOKEN."""
    token_file = tmp_path / "token"
    token_file.write_text("# ours\nme from-file admin\nsecond\n")
    async with ScriptedServer(add) as server:
        args = ("complete", file, "--line", "2", "--url", server.url)
        await codeserve(*args, "--token-file", str(token_file), CODESERVE_TOKEN="from-variable")
        assert requests[-1]["hello"]["token"] == "from-file"
        await codeserve(*args, CODESERVE_TOKEN="from-variable")
        assert requests[-1]["hello"]["token"] == "from-variable"


async def test_terminal_shows_the_final_text(file: str) -> None:
    """On a terminal the text is streamed after the line's own, and what was cut at the end is gone."""
    async with ScriptedServer(add) as server:
        ours, theirs = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "codeserve", "complete", file, "--line", "2", "--url", server.url),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"},
        )
        os.close(theirs)
        output = await asyncio.to_thread(_read_all, ours)
        assert await process.wait() == 0
    assert "return a + b" in output
    assert "100 prompt tokens" in output
    # the last drawing of the line is the final text
    assert "# more" not in output[output.rindex("return a + b") :]
    assert "\x1b[2K" in output or "# more" not in output


def _read_all(descriptor: int) -> str:
    data = b""
    try:
        while chunk := os.read(descriptor, 65_536):
            data += chunk
    except OSError:  # Linux: the other side is closed
        pass
    finally:
        os.close(descriptor)
    return data.decode()


async def refuse_token(peer: Peer) -> None:
    """A server that refuses any token."""
    await peer.receive("hello")
    await peer.send(type="error", code="unauthorized", message="bad token")


async def loading(peer: Peer) -> None:
    """A server whose engine is not there yet."""
    await peer.welcome()
    request = await peer.receive("complete")
    await peer.send(type="error", id=request["id"], code="unavailable", message="the engine is loading")
    await peer.connection.wait_closed()


async def test_what_goes_wrong_is_one_line(file: str, tmp_path: Path) -> None:
    """Each failure is one line on standard error that begins with codeserve: and exit status 1."""
    async with ScriptedServer(add) as server:
        gone = server.url
    (tmp_path / "empty").touch()
    here = ("complete", file, "--line", "2")
    async with ScriptedServer(refuse_token) as strict, ScriptedServer(loading) as slow:
        cases = {
            (*here, "--url", gone): f"no server at {gone}: start one with `codeserve serve`",
            (*here, "--url", strict.url): f"{strict.url} asks for a token",
            (*here, "--url", slow.url): "the engine is loading",
            (*here, "--url", "http://x"): "'http://x' is no WebSocket URL",
            (*here, "--token-file", str(tmp_path / "none")): "none cannot be read: No such file or directory",
            (*here, "--token-file", str(tmp_path / "empty")): "holds no token: write it into the first line",
            ("complete", file, "--line", "99"): "there is no line 99: lines go from 1 to 5",
            ("complete", file + "x", "--line", "1"): "add.pyx cannot be read: No such file or directory",
        }
        results = await asyncio.gather(*(codeserve(*args) for args in cases))
    for result, message in zip(results, cases.values(), strict=True):
        assert (result.status, result.out) == (1, "")
        assert result.err.startswith("codeserve: ")
        assert message in result.err
        assert result.err.count("\n") == 1


async def test_wrong_usage_is_status_2(file: str) -> None:
    """Missing and impossible options are usage errors."""
    assert (await codeserve("complete", file)).status == 2
    assert (await codeserve("complete", file, "--line", "1", "--deadline-ms", "0")).status == 2
    assert (await codeserve("complete", file, "--line", "1", "--mode", "page")).status == 2


async def test_no_suggestion_says_so(file: str) -> None:
    """An empty text is no failure, and has its reason."""

    async def nothing(peer: Peer) -> None:
        await peer.welcome()
        request = await peer.receive("complete")
        finish = "deadline" if request["deadline_ms"] == 1 else "no_suggestion"
        await peer.send(**done(request["id"], "", finish))
        await peer.connection.wait_closed()

    async with ScriptedServer(nothing) as server:
        here = ("complete", file, "--line", "2", "--url", server.url)
        result = await codeserve(*here)
        late = await codeserve(*here, "--deadline-ms", "1")
    assert (result.status, result.out) == (0, "")
    assert "no suggestion (no_suggestion)" in result.err
    assert "give it longer with --deadline-ms" in late.err


async def test_control_characters_do_not_reach_the_terminal(file: str) -> None:
    """A candidate with an escape sequence is shown without it."""

    async def escape(peer: Peer) -> None:
        await peer.welcome()
        request = await peer.receive("complete")
        await peer.send(**{**done(request["id"], "a"), "candidates": ["a", "b\x1b[2J"]})
        await peer.connection.wait_closed()

    async with ScriptedServer(escape) as server:
        result = await codeserve("complete", file, "--line", "2", "--candidates", "2", "--url", server.url)
    assert "2: b\ufffd[2J" in result.err
