"""The real process and its settings, its token and its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.editor import INLINE, Editor, Failed
from tests.lsp.test_connection import HOST, proxied
from tests.lsp.wire_server import WireServer


async def test_bad_address_is_told() -> None:
    """An address that cannot work is a status with one line of reason."""
    async with Editor(settings={"serverUrl": "http://x"}) as editor:
        await editor.initialize()
        told = await editor.status("misconfigured")
        assert told["reason"]
        assert "\n" not in told["reason"]


@pytest.mark.parametrize("name", ["tokenFile", "caFile"])
async def test_home_of_nobody_is_told(name: str) -> None:
    """A file in the home of nobody is a status with its name, and requests are answered."""
    async with Editor(settings={"serverUrl": "wss://127.0.0.1:9", name: "~no-such-user/x"}) as editor:
        await editor.initialize()
        assert "~no-such-user/x" in (await editor.status("misconfigured"))["reason"]
        editor.open()
        assert await editor.texts(0, 0) == []


async def test_settings_are_live(wire: WireServer) -> None:
    """Settings are asked for at the start and again when the editor says they have changed."""
    settings: dict[str, Any] = {"serverUrl": wire.url}
    async with Editor() as editor:
        editor.answers["workspace/configuration"] = lambda _: [settings]
        workspace = {
            "workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}}
        }
        await editor.initialize(INLINE | workspace)
        await editor.status("ready")
        assert "client/registerCapability" in editor.asked
        editor.open()
        assert await editor.texts(0, 0) == ["foo(bar)"]
        settings["languages"] = {"*": True, "python": False, "c++": True}
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        await editor.ask("codeserve/stats", {})
        assert await editor.texts(0, 0) == []
        settings["languages"] = {"python": True}
        settings["enabled"] = False
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        assert (await editor.status("off"))["reason"]
        assert await editor.texts(0, 0) == []
        settings["enabled"] = True
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        await editor.status("ready")
        assert await editor.texts(0, 0) == ["foo(bar)"]


async def test_a_setting_that_is_taken_out_falls_back(wire: WireServer) -> None:
    """Without its line in the settings a setting is as in initializationOptions, else the default."""
    settings: dict[str, Any] = {"languages": {"python": False}, "tokenFile": "/nowhere/token"}
    async with Editor(settings={"serverUrl": wire.url, "languages": {"python": True}}) as editor:
        editor.answers["workspace/configuration"] = lambda _: [settings]
        await editor.initialize(INLINE | {"workspace": {"configuration": True}})
        assert "/nowhere/token" in (await editor.status("misconfigured"))["reason"]
        del settings["tokenFile"]
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        assert (await editor.status("ready"))["url"] == wire.url
        editor.open()
        assert await editor.texts(0, 0) == []
        del settings["languages"]
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        await editor.ask("codeserve/stats", {})
        assert await editor.texts(0, 0) == ["foo(bar)"]


async def test_pushed_settings(wire: WireServer) -> None:
    """An editor that is not asked pushes them, wrapped in the section or not."""
    async with Editor() as editor:
        await editor.initialize()
        editor.notify(
            "workspace/didChangeConfiguration", {"settings": {"codeserve": {"serverUrl": wire.url}}}
        )
        await editor.status("ready")


async def test_token_by_request(wire: WireServer) -> None:
    """The editor hands over the token by a request; a refused one is told and not tried again by itself."""
    wire.token = "s3cret"
    async with Editor(settings={"serverUrl": wire.url, "token": "s3cret"}) as editor:
        await editor.initialize()
        await editor.status("unauthorized")
        assert await editor.ask("codeserve/token", {"token": "s3cret"}) == {}
        await editor.status("ready")


async def test_a_token_for_one_server_is_not_told_another(wire: WireServer) -> None:
    """A token that came with a server's address stays here when the settings name another server."""
    async with WireServer() as other, Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize()
        await editor.status("ready")
        await editor.ask("codeserve/token", {"token": "s3cret", "serverUrl": wire.url})
        await editor.status("ready")
        editor.notes.clear()
        editor.notify("workspace/didChangeConfiguration", {"settings": {"serverUrl": other.url}})
        await editor.status("ready")
        assert other.hellos[0].get("token") is None
    assert wire.hellos[-1]["token"] == "s3cret"


async def test_a_token_of_another_type_is_told(wire: WireServer) -> None:
    """A token that is no text is an error answer, and the one before stays."""
    wire.token = "s3cret"
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize()
        await editor.ask("codeserve/token", {"token": "s3cret"})
        await editor.status("ready")
        for params in ({"token": 5}, {"token": None, "serverUrl": []}, None, []):
            with pytest.raises(Failed, match="nothing was changed"):
                await editor.ask("codeserve/token", params)
        await editor.ask("workspace/executeCommand", {"command": "codeserve.reconnect"})
        assert (await editor.status("ready"))["state"] == "ready"
    assert {hello.get("token") for hello in wire.hellos} <= {None, "s3cret"}


async def test_the_users_token_is_not_for_a_server_of_the_project() -> None:
    """Settings that come later name a server elsewhere: it is not told the token, and the status says why;
    where the user's own variable names it, it is."""
    async with WireServer() as wire, proxied(wire) as (_, environ):
        wire.token = "s3cret"
        far = f"ws://{HOST}:8760"
        environ |= {"CODESERVE_TOKEN": "s3cret"}
        async with Editor(settings={"serverUrl": "ws://127.0.0.1:9"}, **environ) as editor:
            await editor.initialize()
            editor.notify("workspace/didChangeConfiguration", {"settings": {"serverUrl": far}})
            reason = (await editor.status("unauthorized"))["reason"]
            assert "CODESERVE_TOKEN" in reason
            assert "CODESERVE_URL" in reason
        assert [hello.get("token") for hello in wire.hellos] == [None]
        async with Editor(settings={"serverUrl": far}, **environ) as editor:
            await editor.initialize()
            await editor.status("ready")
        async with Editor(**environ, CODESERVE_URL=far) as editor:
            await editor.initialize()
            editor.notify("workspace/didChangeConfiguration", {"settings": {"serverUrl": far}})
            await editor.status("ready")


async def test_a_bad_setting_is_told_once_in_a_line(wire: WireServer, tmp_path: Path) -> None:
    """However often the editor sends it, the log has a line with its name and what it must be, and counts."""
    log = tmp_path / "lsp.log"
    arguments = ("--log-file", str(log))
    async with Editor(settings={"serverUrl": wire.url}, arguments=arguments) as editor:
        await editor.initialize()
        await editor.status("ready")
        for _ in range(30):
            settings = {"budgetMs": "fast", "caFile": "a\0b"}
            editor.notify("workspace/didChangeConfiguration", {"settings": {"codeserve": settings}})
            editor.notify("textDocument/didChange", {"textDocument": "sour_ce"})
            with pytest.raises(Failed, match="-32601"):
                await editor.ask("no/such", {})
        assert await editor.quit() == 0
    lines = [line.split(": ", 1)[1] for line in log.read_text().splitlines()]
    assert sorted(lines) == sorted(
        line + count
        for count in ("", " (the 10th time)")
        for line in (
            "settings: budgetMs: must be a whole number from 50 to 10000; it stays as it was",
            "settings: caFile: must be a text without control characters; it stays as it was",
            "a message that cannot be read: textDocument/didChange",
        )
    )


async def test_the_servers_name_for_its_model(wire: WireServer) -> None:
    """What an editor shows is one line of bounded length that no terminal acts on."""
    wire.model = "\x1b[2J\nmini" * 5_000
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        await editor.initialize()
        model = (await editor.status("ready"))["model"]
    assert model.isprintable()
    assert len(model) <= 300


async def test_token_from_variable_and_file(wire: WireServer, tmp_path: Path) -> None:
    """A variable or a file holds the token; the file is read anew for the reconnect command."""
    wire.token = "s3cret"
    async with Editor(settings={"serverUrl": wire.url}, CODESERVE_TOKEN="s3cret") as editor:
        await editor.initialize()
        await editor.status("ready")
    file = tmp_path / "token"
    file.write_text("old\n")
    async with Editor(settings={"serverUrl": wire.url, "tokenFile": str(file)}) as editor:
        await editor.initialize()
        await editor.status("unauthorized")
        file.write_text("s3cret\n")
        await editor.ask("workspace/executeCommand", {"command": "codeserve.reconnect"})
        await editor.status("ready")


async def test_missing_token_file_is_told(wire: WireServer) -> None:
    """A token file that is not there is a status with the reason."""
    async with Editor(settings={"serverUrl": wire.url, "tokenFile": "/nowhere/token"}) as editor:
        await editor.initialize()
        assert "/nowhere/token" in (await editor.status("misconfigured"))["reason"]


async def test_log_holds_no_source_and_no_token(wire: WireServer, tmp_path: Path) -> None:
    """At the finest level, with failures on the way, neither code nor token gets into the log."""
    log = tmp_path / "lsp.log"
    arguments = ("--log-file", str(log), "--log-level", "debug")
    async with Editor(settings={"serverUrl": wire.url}, arguments=arguments) as editor:
        await editor.initialize()
        await editor.ask("codeserve/token", {"token": "t0ken"})
        await editor.status("ready")
        editor.open("sour_ce")
        await editor.texts(0, 7)
        editor.change(0, 0, "sour_ce")
        with pytest.raises(Failed):
            await editor.ask(
                "textDocument/inlineCompletion", {"textDocument": "sour_ce", "position": "sour_ce"}
            )
        with pytest.raises(Failed):
            await editor.ask("workspace/executeCommand", {"command": "sour_ce", "arguments": ["sour_ce"]})
        editor.notify("textDocument/didChange", {"textDocument": "sour_ce"})
        await wire.stop()
        await editor.status("offline")
        assert await editor.quit() == 0
        stderr = editor.process.stderr
        assert stderr is not None
        assert await stderr.read() == b""
    text = log.read_text()
    assert "codeserve" in text
    for secret in ("sour_ce", "t0ken", "foo(bar)"):
        assert secret not in text


async def test_answers_out_of_order(wire: WireServer) -> None:
    """Of two answers about the settings the one that was asked for last counts, whenever it comes."""
    async with Editor(settings={"serverUrl": wire.url}) as editor:
        editor.answers["workspace/configuration"] = lambda _: [{}]
        await editor.initialize(INLINE | {"workspace": {"configuration": True}})
        await editor.status("ready")
        editor.hold = True
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        older, newer = await editor.wait_held(2)
        editor.reply(newer, [{"enabled": False}])
        await editor.status("off")
        editor.reply(older, [{"enabled": True}])
        await editor.ask("codeserve/stats")
        editor.open("x = ")
        assert await editor.texts(0, 4) == []


async def test_a_server_that_repeats_the_token_or_the_source(wire: WireServer, tmp_path: Path) -> None:
    """Neither an error's code nor a model's name brings them into the log, the counts or the status."""
    log = tmp_path / "log"
    wire.model, wire.error = "model s3cret_token", "no: "
    arguments = ("--log-file", str(log), "--log-level", "debug")
    editor = Editor(settings={"serverUrl": wire.url}, arguments=arguments, CODESERVE_TOKEN="s3cret_token")
    async with editor:
        await editor.initialize()
        assert (await editor.status("ready"))["model"] == "model …"
        editor.open("secret_source = ")
        assert await editor.texts(0, 16) == []
        stats = await editor.ask("codeserve/stats")
        assert stats["answers"] == {"internal": 1}
        await editor.quit()
    told = log.read_text(encoding="utf-8")
    assert "no completion: internal" in told
    assert "s3cret_token" not in told
    assert "secret_source" not in told
