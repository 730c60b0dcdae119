"""The client against a scripted server: outcomes, supersede, cancel, loss, reconnection, limits."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import Request, Response, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed

from codeserve.client import Client, ClientState, ConfigError, ConnectFailed, RequestError
from codeserve.connection import Backoff
from codeserve.protocol import ErrorCode, Finish, Snippet, Status
from tests.scripted_server import Peer, ScriptedServer, done

FAST = {"base": 0.01, "cap": 0.05}


async def greet_and_wait(peer: Peer) -> None:
    """Welcome the client, then read and say nothing."""
    await peer.welcome()
    await peer.connection.wait_closed()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come about within 5 s")


async def test_deltas_then_the_result() -> None:
    """Deltas are iterated as they come and the result is the server's done."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        request = await peer.receive("complete")
        await peer.send(type="delta", id=request["id"], text="return ")
        await peer.send(type="delta", id=request["id"], text="a + b  ")
        await peer.send(**done(request["id"], "return a + b"))
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        welcome = await client.wait_ready()
        handle = client.complete(document="a.py", prefix="def add(a, b):\n    ")
        text = "".join([delta async for delta in handle])
        result = await handle.result()
        assert welcome.model == "scripted"
        assert text == "return a + b  "
        assert (result.text, result.finish, result.tokens.cached) == ("return a + b", Finish.STOP, 90)
        assert handle.ttft_ms is not None
        assert handle.total_ms is not None
        assert 0 < handle.ttft_ms <= handle.total_ms


async def test_slow_reader_gets_merged_deltas() -> None:
    """Deltas that nobody takes are merged into one text."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        request = await peer.receive("complete")
        for letter in "abcdef":
            await peer.send(type="delta", id=request["id"], text=letter)
        await peer.send(**done(request["id"], "abcdef"))
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        await client.wait_ready()
        handle = client.complete(document="a.py", prefix="x")
        await handle.result()
        assert [delta async for delta in handle] == ["abcdef"]


async def test_error_ends_the_request() -> None:
    """An error with the request's id raises with the server's code and wait, in iteration and result."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        request = await peer.receive("complete")
        await peer.send(type="error", id=request["id"], code="overloaded", message="busy", retry_after_ms=250)
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        await client.wait_ready()
        handle = client.complete(document="a.py", prefix="x")
        with pytest.raises(RequestError, match="busy") as caught:
            await handle.result()
        assert (caught.value.code, caught.value.retry_after_ms) == (ErrorCode.OVERLOADED, 250)
        with pytest.raises(RequestError, match="busy"):
            await anext(handle)


async def test_newer_request_supersedes_at_once() -> None:
    """A second request for a document ends the first one here, before the server says anything."""
    async with ScriptedServer(greet_and_wait) as server, Client(server.url) as client:
        await client.wait_ready()
        first = client.complete(document="a.py", prefix="x")
        other = client.complete(document="b.py", prefix="x")
        second = client.complete(document="a.py", prefix="xy")
        assert first.ended
        assert (await first.result()).finish is Finish.SUPERSEDED
        assert [delta async for delta in first] == []
        assert not other.ended
        assert not second.ended


async def test_late_answer_to_a_superseded_request_is_dropped() -> None:
    """What the server still says of an older request touches neither it nor the newer one."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        first = await peer.receive("complete")
        second = await peer.receive("complete")
        await peer.send(type="delta", id=first["id"], text="old")
        await peer.send(**done(first["id"], "old", "superseded"))
        await peer.send(**done(first["id"], "old"))
        await peer.send(**done(second["id"], "new"))
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        await client.wait_ready()
        first = client.complete(document="a.py", prefix="x")
        await asyncio.sleep(0.05)  # sent: the server has to hear of both
        second = client.complete(document="a.py", prefix="xy")
        assert (await second.result()).text == "new"
        assert (await first.result()).text == ""


async def test_unsent_request_that_is_superseded_never_leaves() -> None:
    """Requests replaced before the socket took them are not sent at all."""
    async with ScriptedServer(greet_then_collect) as server, Client(server.url) as client:
        await client.wait_ready()
        for length in range(1, 6):
            client.complete(document="a.py", prefix="x" * length)
        client.feedback("none", "shown")
        await until(lambda: any(body["type"] == "feedback" for body in collected))
        assert [body["prefix"] for body in collected if body["type"] == "complete"] == ["xxxxx"]


async def test_cancel_of_an_unsent_request_reaches_what_it_superseded() -> None:
    """The server hears that the older request is over, though the newer one never left."""
    async with ScriptedServer(greet_then_collect) as server, Client(server.url) as client:
        await client.wait_ready()
        first = client.complete(document="a.py", prefix="x")
        await until(lambda: any(body["type"] == "complete" for body in collected))
        client.complete(document="a.py", prefix="xy")
        client.complete(document="a.py", prefix="xyz").cancel()  # before either has left
        await until(lambda: any(body["type"] == "cancel" for body in collected))
        assert [(body["type"], body["id"]) for body in collected] == [
            ("complete", first.id),
            ("cancel", first.id),
        ]


async def test_request_that_cannot_be_sent_ends_what_it_superseded() -> None:
    """The server hears that the older request is over, though the newer one was refused here."""

    async def small(peer: Peer) -> None:
        await greet_then_collect(peer, frame_bytes=300)

    async with ScriptedServer(small) as server, Client(server.url) as client:
        await client.wait_ready()
        first = client.complete(document="a.py", prefix="x")
        await until(lambda: any(body["type"] == "complete" for body in collected))
        second = client.complete(document="a.py", prefix="xy", path="p" * 1000)
        with pytest.raises(RequestError):
            await second.result()
        await until(lambda: any(body["type"] == "cancel" for body in collected))
        assert collected[-1]["id"] == first.id


collected: list[dict[str, Any]] = []


async def greet_then_collect(peer: Peer, **limits: int) -> None:
    """Welcome the client and note all that it says."""
    collected.clear()
    await peer.welcome(**limits)
    try:
        while True:
            collected.append(await peer.receive())
    except ConnectionClosed:
        return


async def test_cancel_ends_at_once_and_tells_the_server() -> None:
    """A cancelled request ends here with finish cancelled, and the server gets one cancel with its id."""
    async with ScriptedServer(greet_then_collect) as server, Client(server.url) as client:
        await client.wait_ready()
        handle = client.complete(document="a.py", prefix="x")
        await until(lambda: len(collected) == 1)
        handle.cancel()
        handle.cancel()
        assert (await handle.result()).finish is Finish.CANCELLED
        await until(lambda: len(collected) == 2)
        assert collected[1] == {"type": "cancel", "id": handle.id}
        client.feedback("none", "shown")
        await until(lambda: len(collected) == 3)


async def test_prewarm_is_answered_and_yields_to_a_completion() -> None:
    """A prewarm ends as prewarmed; one that is still under way ends by a completion."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        first = await peer.receive("prewarm")
        await peer.send(**done(first["id"], finish="prewarmed"))
        second = await peer.receive("prewarm")
        request = await peer.receive("complete")
        await peer.send(**done(second["id"], finish="superseded"))
        await peer.send(**done(request["id"], "text"))
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        await client.wait_ready()
        assert (await client.prewarm(document="a.py", prefix="x").result()).finish is Finish.PREWARMED
        warm = client.prewarm(document="a.py", prefix="x")
        await asyncio.sleep(0.05)
        completion = client.complete(document="a.py", prefix="xy")
        assert (await warm.result()).finish is Finish.SUPERSEDED
        assert (await completion.result()).text == "text"


async def test_text_for_a_prewarm_is_dropped() -> None:
    """Nobody reads it, so it must not pile up."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        request = await peer.receive("prewarm")
        await peer.send(type="delta", id=request["id"], text="text")
        await peer.send(**done(request["id"], finish="prewarmed"))
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        await client.wait_ready()
        warm = client.prewarm(document="a.py", prefix="x")
        assert (await warm.result()).finish is Finish.PREWARMED
        assert [text async for text in warm] == []


async def test_connection_lost_mid_stream() -> None:
    """A connection that drops fails what is under way as unavailable, and the client comes back by itself."""
    states: list[ClientState] = []

    async def script(peer: Peer) -> None:
        await peer.welcome()
        request = await peer.receive("complete")
        if server.connections == 1:
            await peer.send(type="delta", id=request["id"], text="half")
            await asyncio.sleep(0.02)
            peer.connection.transport.abort()
            return
        await peer.send(**done(request["id"], "whole"))
        await peer.connection.wait_closed()

    async with (
        ScriptedServer(script) as server,
        Client(server.url, on_state=lambda state, _: states.append(state), backoff=Backoff(**FAST)) as client,
    ):
        await client.wait_ready()
        handle = client.complete(document="a.py", prefix="x")
        assert await anext(handle) == "half"
        with pytest.raises(RequestError, match="was lost") as caught:
            await handle.result()
        assert caught.value.code == ErrorCode.UNAVAILABLE
        await until(lambda: client.state is ClientState.READY)
        assert (await client.complete(document="a.py", prefix="x").result()).text == "whole"
        assert states == [ClientState.READY, ClientState.OFFLINE, ClientState.READY]


async def test_offline_requests_fail_at_once_and_leave_nothing() -> None:
    """Without a server each request fails at once with the reason, and nothing piles up for later."""
    async with ScriptedServer(greet_and_wait) as server:
        url = server.url
    async with Client(url, backoff=Backoff(**FAST)) as client:
        with pytest.raises(ConnectFailed, match=r"no server at ws://127\.0\.0\.1:\d+: start one with"):
            await client.wait_ready()
        for number in range(1000):
            handle = client.complete(document=f"{number}.py", prefix="x")
            assert handle.ended
            client.feedback(handle, "shown")
        with pytest.raises(RequestError, match="no server at"):
            await handle.result()
        assert len(client._inflight) == 0
        assert client._link._outbox == {}


async def test_client_finds_a_server_that_starts_later() -> None:
    """Attempts go on until a server is there."""
    async with ScriptedServer(greet_and_wait) as server:
        port = server.port
    async with Client(server.url, backoff=Backoff(**FAST)) as client:
        await until(lambda: client.state is ClientState.OFFLINE)
        async with ScriptedServer(greet_and_wait, port=port):
            await until(lambda: client.state is ClientState.READY)
            assert client.reason == ""


async def test_bad_token_is_not_tried_again() -> None:
    """A refused token stops the attempts until the caller asks for one; requests say unauthorized."""

    async def script(peer: Peer) -> None:
        hello = await peer.receive("hello")
        assert hello["token"] == "wrong"
        await peer.send(type="error", code="unauthorized", message="no")

    async with (
        ScriptedServer(script) as server,
        Client(server.url, token="wrong", backoff=Backoff(**FAST)) as client,
    ):
        with pytest.raises(ConnectFailed, match="refuses this token") as caught:
            await client.wait_ready()
        assert caught.value.unauthorized
        assert "wrong" not in str(caught.value)
        await asyncio.sleep(0.2)
        assert (client.state, server.connections) == (ClientState.UNAUTHORIZED, 1)
        with pytest.raises(RequestError) as failed:
            await client.complete(document="a.py", prefix="x").result()
        assert failed.value.code == ErrorCode.UNAUTHORIZED
        client.retry()
        with pytest.raises(ConnectFailed):
            await client.wait_ready()
        assert server.connections == 2


async def test_flapping_server_is_approached_with_growing_waits() -> None:
    """A server that welcomes and drops at once does not get a storm of connections."""

    async def script(peer: Peer) -> None:
        await peer.welcome()

    async with ScriptedServer(script) as server, Client(server.url, backoff=Backoff(0.05, 10.0)):
        await asyncio.sleep(0.5)
        assert 2 <= server.connections <= 6


async def test_stalled_server_gets_an_answer_here() -> None:
    """A server that never answers: the request ends with unavailable after its deadline and the grace."""
    async with ScriptedServer(greet_then_collect) as server, Client(server.url, grace_ms=20) as client:
        await client.wait_ready()
        handle = client.complete(document="a.py", prefix="x", deadline_ms=30)
        with pytest.raises(RequestError, match="did not answer the request within") as caught:
            await handle.result()
        assert caught.value.code == ErrorCode.UNAVAILABLE
        await until(lambda: [body["type"] for body in collected] == ["complete", "cancel"])


async def test_server_that_does_not_read_is_overloaded_not_buffered() -> None:
    """While the server reads nothing, waiting frames are bounded and further requests fail as overloaded."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        peer.connection.transport.pause_reading()
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url, backoff=Backoff(**FAST)) as client:
        await client.wait_ready()
        overloaded = 0
        for number in range(700):
            handle = client.complete(document=f"{number}.py", prefix="x" * 60_000)
            await asyncio.sleep(0)
            if handle.ended:
                with pytest.raises(RequestError, match="does not keep up") as caught:
                    await handle.result()
                assert caught.value.code == ErrorCode.OVERLOADED
                overloaded += 1
        assert overloaded > 0
        assert len(client._link._outbox) <= 256
        (await server.peers.get()).connection.transport.abort()
        await until(lambda: len(client._inflight) == 0)


async def test_an_engine_that_is_not_ready() -> None:
    """What the welcome says of the engine is known when the connection is told of."""
    seen: list[tuple[ClientState, Status | None]] = []

    async def script(peer: Peer) -> None:
        await peer.receive("hello")
        await peer.send(type="welcome", version=1, model="m", limits={}, state="starting")
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server:
        client = Client(server.url, on_state=lambda state, _: seen.append((state, client.status)))
        async with client:
            await client.wait_ready()
    assert seen == [(ClientState.READY, Status("starting")), (ClientState.CLOSED, None)]


async def test_unknown_and_broken_messages_are_survived() -> None:
    """Unknown types, noise and binary frames are ignored; an unreadable answer ends its own request only."""
    statuses: list[Status] = []

    async def script(peer: Peer) -> None:
        await peer.receive("hello")
        await peer.send(type="motd", text="from a newer server")
        await peer.send(type="welcome", version=1, model="m", limits={}, extra=True)
        await peer.send(type="aurora", id="1")
        await peer.connection.send("not json")
        await peer.connection.send(b"\x00\x01")
        await peer.send(type="status", state="ready", load=0.5)
        first = await peer.receive("complete")
        second = await peer.receive("complete")
        await peer.send(**{**done(first["id"], "x"), "finish": "of a newer kind"})
        await peer.send(**done(second["id"], "fine"))
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url, on_status=statuses.append) as client:
        await client.wait_ready()
        broken = client.complete(document="a.py", prefix="x")
        fine = client.complete(document="b.py", prefix="x")
        assert (await fine.result()).text == "fine"
        with pytest.raises(RequestError, match="cannot be read") as caught:
            await broken.result()
        assert caught.value.code == ErrorCode.INTERNAL
        assert statuses == [Status("ready", 0.5)]
        assert client.status == Status("ready", 0.5)


async def test_failing_callbacks_do_not_break_the_connection() -> None:
    """A callback that raises is logged; requests go on."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.send(type="status", state="ready")
        request = await peer.receive("complete")
        await peer.send(**done(request["id"], "fine"))
        await peer.connection.wait_closed()

    def fail(*_: object) -> None:
        raise RuntimeError("a bug of the caller")

    async with ScriptedServer(script) as server, Client(server.url, on_state=fail, on_status=fail) as client:
        await client.wait_ready()
        assert (await client.complete(document="a.py", prefix="x").result()).text == "fine"


async def test_requests_keep_to_the_servers_limits() -> None:
    """All that has a limit in the welcome is cut to it, and the frame stays under its own."""

    async def script(peer: Peer) -> None:
        await peer.welcome(
            prefix_chars=100, suffix_chars=50, deadline_ms=1000, candidates=2, frame_bytes=2000
        )
        request = await peer.receive("complete")
        await peer.send(**done(request["id"], json.dumps(request)))
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        await client.wait_ready()
        handle = client.complete(
            document="a.py",
            prefix="line one\n" * 100 + "last \ud800",
            suffix="\nline" * 100,
            snippets=[Snippet("b.py", "b" * 900), Snippet("c.py", "c" * 900), Snippet("d.py", "d" * 900)],
            deadline_ms=60_000,
            candidates=5,
        )
        sent = json.loads((await handle.result()).text)
        assert len(sent["prefix"]) <= 100
        assert sent["prefix"].endswith("last \ufffd")
        assert 0 < len(sent["suffix"]) <= 50
        assert (sent["deadline_ms"], sent["candidates"]) == (1000, 2)
        assert [snippet["path"] for snippet in sent["snippets"]] == ["b.py"]


@pytest.mark.parametrize(("told", "sent"), [({}, 1), ({"snippet_tokens": 0}, 0), ({"snippet_tokens": 9}, 1)])
async def test_snippets_go_to_servers_that_take_them(told: dict[str, int], sent: int) -> None:
    """A server that leaves them out gets none, one that does not tell is an older one and takes them."""

    async def script(peer: Peer) -> None:
        await peer.welcome(**told)
        for type in ("prewarm", "complete"):
            request = await peer.receive(type)
            await peer.send(**done(request["id"], json.dumps(request)))
        await peer.connection.wait_closed()

    async with ScriptedServer(script) as server, Client(server.url) as client:
        await client.wait_ready()
        for ask in (client.prewarm, client.complete):
            handle = ask(document="a.py", prefix="x", snippets=[Snippet("b.py", "y = 1")])
            assert len(json.loads((await handle.result()).text)["snippets"]) == sent


async def test_tls_with_a_ca_file() -> None:
    """wss:// works with the CA file named, and says what to do without it."""
    # A certificate and key made for these tests, valid for 127.0.0.1, good for nothing else.
    ca_file = Path(__file__).parent / "certs" / "ca.pem"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca_file.with_name("localhost.pem"))
    async with ScriptedServer(greet_and_wait, tls=context) as server:
        async with Client(server.url, ca_file=ca_file) as client:
            assert (await client.wait_ready()).model == "scripted"
        async with Client(server.url) as client:
            with pytest.raises(ConnectFailed, match="name its CA file"):
                await client.wait_ready()


async def test_loopback_never_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxy variables do not touch a connection to this machine."""
    for name in ("all_proxy", "http_proxy", "https_proxy", "ws_proxy", "socks_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    async with ScriptedServer(greet_and_wait) as server, Client(server.url) as client:
        assert (await client.wait_ready()).version == 1


async def test_proxy_of_the_environment_is_used_for_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to another host asks the environment's proxy."""
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        for name in ("http_proxy", "https_proxy", "ws_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "")
        async with Client("ws://codeserve.invalid:8760") as client:
            with pytest.raises(ConnectFailed):
                await client.wait_ready()
    assert asked[0].startswith(b"CONNECT codeserve.invalid:8760")


async def test_redirect_is_not_followed() -> None:
    """The token goes to the server that was named: a redirect elsewhere is an error."""
    async with ScriptedServer(greet_and_wait) as elsewhere:

        def redirect(_: ServerConnection, __: Request) -> Response:
            return Response(302, "Found", Headers({"Location": elsewhere.url}), b"")

        async with serve(greet_nobody, "127.0.0.1", 0, process_request=redirect) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            async with Client(f"ws://127.0.0.1:{port}", token="t", backoff=Backoff(**FAST)) as client:
                with pytest.raises(ConnectFailed, match="HTTP 302"):
                    await client.wait_ready()
        assert elsewhere.connections == 0


async def greet_nobody(_: ServerConnection) -> None:
    """The handler of a server that refuses at the handshake."""


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:8760", "127.0.0.1:8760", "ws://", "ws://h:port"])
def test_bad_url_is_a_config_error(url: str) -> None:
    """What is no WebSocket URL is refused before anything is tried, with an example of a good one."""
    with pytest.raises(ConfigError, match="is no WebSocket URL"):
        Client(url)


def test_a_bad_url_is_named_without_its_password() -> None:
    """The message goes to logs and to the editor."""
    with pytest.raises(ConfigError, match="h:port") as refused:
        Client("ws://user:secret@h:port")
    assert "secret" not in str(refused.value)


def test_missing_ca_file_is_a_config_error(tmp_path: Path) -> None:
    """A CA file that is not there or holds no certificate is named."""
    with pytest.raises(ConfigError, match=r"nowhere\.pem cannot be used"):
        Client("wss://127.0.0.1", ca_file=tmp_path / "nowhere.pem")
    (tmp_path / "empty.pem").write_text("nothing")
    with pytest.raises(ConfigError, match=r"empty\.pem cannot be used"):
        Client("wss://127.0.0.1", ca_file=tmp_path / "empty.pem")


def test_password_in_the_url_is_not_shown() -> None:
    """A user and password in the URL stay out of what is shown."""
    assert Client("wss://me:secret@example.org/x").url == "wss://example.org/x"


def test_field_out_of_range_is_a_value_error() -> None:
    """A deadline that no server takes is the caller's error, and ends nothing."""
    with pytest.raises(ValueError, match="deadline_ms must be from"):
        Client().complete(document="a.py", prefix="", deadline_ms=0)


async def test_closed_client_fails_what_is_under_way() -> None:
    """Leaving the client ends its requests with an error; later ones fail at once."""
    async with ScriptedServer(greet_and_wait) as server:
        async with Client(server.url) as client:
            await client.wait_ready()
            handle = client.complete(document="a.py", prefix="x")
        await client.close()
        with pytest.raises(RequestError, match="has been closed"):
            await handle.result()
        with pytest.raises(RequestError, match="has been closed"):
            await client.complete(document="a.py", prefix="x").result()


def test_backoff_starts_at_none_and_is_capped() -> None:
    """No wait at first, then doubling with jitter up to the cap, however long it goes on."""
    backoff = Backoff(0.25, 30.0, jitter=lambda: 1.0)
    waits = [backoff.next() for _ in range(2000)]
    assert waits[:5] == [0.0, 0.25, 0.5, 1.0, 2.0]
    assert max(waits) == waits[-1] == 30.0
    backoff.reset()
    assert backoff.next() == 0.0
    low = Backoff(0.25, 30.0, jitter=lambda: 0.0)
    assert [low.next() for _ in range(3)] == [0.0, 0.125, 0.25]


def test_import_is_light() -> None:
    """The client pulls in no engine, tokenizer or command line."""
    code = "import sys, codeserve.client; print(*sys.modules)"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert "codeserve.client" in loaded
    assert not loaded & {
        "torch",
        "vllm",
        "transformers",
        "tokenizers",
        "typer",
        "rich",
        "numpy",
        "prometheus_client",
    }
