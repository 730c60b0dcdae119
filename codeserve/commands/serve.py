"""``codeserve serve``: bring up the engine and the server, and say how far it is."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import socket
import sys
from collections.abc import Coroutine
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codeserve import __version__
from codeserve.commands.extras import require_server

if TYPE_CHECKING:
    from codeserve.commands.startup import StartupDisplay
    from codeserve.engine.presets import Preset
    from codeserve.settings import ServerSettings

__all__ = ["serve"]


class _Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class _Format(StrEnum):
    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


class _Speculation(StrEnum):
    ON = "on"
    OFF = "off"
    AUTO = "auto"


class _LoadFormat(StrEnum):
    AUTO = "auto"
    DUMMY = "dummy"


def serve(
    config: Annotated[
        Path | None, typer.Option(help="Settings file (TOML).", show_default="codeserve.toml, if there")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Preset (see `codeserve models`) or model folder.", show_default="mini-codellama"),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one.", show_default="8760")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="Tokens of the clients, one a line.", show_default=False)
    ] = None,
    models_dir: Annotated[
        Path | None, typer.Option(help="Folder with the weights of presets.", show_default=False)
    ] = None,
    context_tokens: Annotated[
        int | None, typer.Option(help="Prompt and output together.", show_default="the preset's")
    ] = None,
    snippet_tokens: Annotated[
        int | None,
        typer.Option(help="Of a prompt, for what other files say; 0: none.", show_default="the preset's"),
    ] = None,
    speculation: Annotated[
        _Speculation | None,
        typer.Option(help="The preset's speculative decoding; auto: only while it pays.", show_default="on"),
    ] = None,
    load_format: Annotated[
        _LoadFormat | None,
        typer.Option(help="dummy: weights made up, to measure speed alone.", show_default="auto"),
    ] = None,
    log_level: Annotated[_Level | None, typer.Option(help="Least level to log.", show_default="info")] = None,
    log_format: Annotated[
        _Format | None, typer.Option(help="Log for people or for machines.", show_default="auto")
    ] = None,
) -> None:
    """Serve completions until Ctrl+C.

    Flags win over CODESERVE_* variables, which win over the settings file. A token is read from --token-file
    or CODESERVE_TOKEN; one is needed to listen on other addresses than this machine's own.
    """
    from codeserve.settings import load_settings, mistyped_variables

    settings = load_settings(
        config,
        {
            "model": model,
            "host": host,
            "port": port,
            "token_file": token_file,
            "models_dir": models_dir,
            "context_tokens": context_tokens,
            "snippet_tokens": snippet_tokens,
            "speculation": speculation.value if speculation else None,
            "load_format": load_format.value if load_format else None,
            "log_level": log_level.value if log_level else None,
            "log_format": log_format.value if log_format else None,
        },
    )
    require_server()
    from codeserve.commands.startup import StartupDisplay
    from codeserve.server.logging import configure_logging

    with StartupDisplay() as display:
        # Begun within the display, which passes on what is logged above its own lines.
        configure_logging(settings.log_level, settings.log_format)
        display.say(f"codeserve {__version__}: {settings.model}")
        for line in mistyped_variables():
            display.say(line)
        display.stage("checking")
        preset = _prepare(settings, display)
        _run(_serve(settings, preset, display))


def _prepare(settings: ServerSettings, display: StartupDisplay) -> Preset:
    """The preset to run, its weights on this machine.

    Raises: ConfigError, at once, for what would fail minutes later.
    """
    from codeserve.commands.model import choose_model
    from codeserve.engine.hub import fetch_preset
    from codeserve.engine.preflight import checks, require

    preset, model = choose_model(settings)
    results = checks(preset, model)
    require(results)
    for check in results:
        if check.status == "warn":
            display.say(f"{check.name}: {check.message}")
    draft = preset.speculation.model if preset.speculation is not None else None
    if ids := [one for one in (model, draft) if isinstance(one, str)]:
        display.stage(f"fetching {' and '.join(ids)}")
    return fetch_preset(preset)


async def _serve(settings: ServerSettings, preset: Preset, display: StartupDisplay) -> None:
    from codeserve.completion.tokens import Tokenizer
    from codeserve.engine.base import EngineState
    from codeserve.engine.prompts import prompt_builder
    from codeserve.engine.vllm_engine import VllmEngine
    from codeserve.server.app import Server
    from codeserve.server.logging import configure_logging

    first = True

    def on_progress(stage: str, _: float) -> None:
        server.progress(stage)
        if first and stage != "ready":
            display.stage(stage)

    def on_state(state: EngineState) -> None:
        nonlocal first
        if first and state is EngineState.READY:
            first = False
            display.close()
            configure_logging(settings.log_level, settings.log_format)
            _say_ready(settings, server, engine.info.engine, display)

    tokenizer = Tokenizer.load(Path(preset.model))
    builder = prompt_builder(preset, tokenizer, endless=preset.load_format == "dummy")
    engine = VllmEngine(preset, on_state=on_state, on_progress=on_progress)
    server = Server(settings, engine, builder, tokenizer, min_confidence=preset.min_confidence)
    await server.run()
    display.say("stopped")


def _say_ready(settings: ServerSettings, server: Any, engine: str, display: StartupDisplay) -> None:
    # who listens on all addresses is reached by the machine's name
    host = settings.host
    try:
        if ip_address(host).is_unspecified:
            host = socket.gethostname()
    except ValueError:
        pass  # a name
    url = f"ws://{f'[{host}]' if ':' in host else host}:{server.port}"
    command = [*_program(), "complete", "FILE", "--line", "L", "--column", "C"]
    if (settings.host, server.port) != ("127.0.0.1", 8760):
        command += ["--url", url]
    if settings.token_file is not None:
        command += ["--token-file", str(settings.token_file)]
    display.say(f"ready after {display.elapsed_s:.0f} s: {settings.model} on {engine} at {url}")
    display.say(f"next, from another terminal: {shlex.join(command)}")


def _program() -> list[str]:
    """How to call this program from another terminal, where its environment may not be the active one."""
    if shutil.which("codeserve"):
        return ["codeserve"]
    if Path(sys.argv[0]).name == "codeserve":
        return [sys.argv[0]]
    return [sys.executable, "-m", "codeserve"]


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop's event loop where it is installed, which spends less time a message."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        asyncio.run(work)
    else:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(work)
