"""The real process and its settings, its token and its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.editor import INLINE, Editor, Failed
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
