"""The server: binds the port, brings the engine up, lets connections in, and stops in good order."""

from __future__ import annotations

import asyncio
import errno
import re
import signal
import socket

import structlog
from websockets.asyncio import server as websockets
from websockets.http11 import Request, Response
from websockets.typing import Origin

from codeserve.completion.prompt import PromptBuilder
from codeserve.completion.tokens import Tokenizer
from codeserve.engine.base import Engine, EngineState
from codeserve.errors import CodeserveError, ConfigError, EngineStartError
from codeserve.server.admission import Admission
from codeserve.server.auth import Authenticator
from codeserve.server.connection import Connection
from codeserve.server.context import Context
from codeserve.server.http import answer
from codeserve.server.logging import origin_of, quiet_logger
from codeserve.server.metrics import Metrics
from codeserve.settings import ServerSettings

__all__ = ["Server"]

_log = structlog.get_logger("codeserve.server")

_POLL_SECONDS = 0.1  # between looks at the engine's state
_FRAMES_AHEAD = 4  # of one client, read before it is made to wait
_WRITE_BYTES = 32_768  # buffered for one client before the writer waits


class Server:
    """Serves completions until `close`. One event loop; nothing here is thread-safe."""

    def __init__(
        self,
        settings: ServerSettings,
        engine: Engine,
        builder: PromptBuilder,
        tokenizer: Tokenizer,
        *,
        min_confidence: float | None = None,
        owns_engine: bool = True,
    ) -> None:
        """``min_confidence``: mean log-probability below which there is no suggestion (None: no such rule).
        ``owns_engine``: start and close the engine together with the server.

        Raises: ConfigError when a token is missing or a token file cannot be used.
        """
        self._settings = settings
        self._engine = engine
        self._owns_engine = owns_engine
        self._connections: set[Connection] = set()
        admission = Admission(settings.max_pending, settings.max_pending_per_connection)
        self._context = Context(
            settings=settings,
            engine=engine,
            builder=builder,
            tokenizer=tokenizer,
            authenticator=Authenticator.load(settings),
            admission=admission,
            metrics=Metrics(engine, lambda: admission.live, lambda: len(self._connections)),
            min_confidence=min_confidence,
        )
        if warning := self._context.authenticator.warning:
            _log.warning(warning)
        self._port = settings.port
        self._websockets: websockets.Server | None = None
        self._background: list[asyncio.Task[None]] = []
        self._closing: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()  # stop at once
        self._failed = asyncio.Event()  # the engine cannot be brought up
        self._failure: CodeserveError | None = None

    @property
    def port(self) -> int:
        """The port that it listens on, once started; before that the one it is to listen on."""
        return self._port

    def progress(self, stage: str) -> None:
        """Note what the engine does on its way up, for ``/readyz`` and refused requests."""
        self._context.stage = stage

    async def start(self) -> None:
        """Listen, and bring the engine up in the background. Raises: ConfigError when it cannot listen."""
        settings = self._settings
        origins: list[Origin | re.Pattern[str] | None] = [None, *map(Origin, settings.allowed_origins)]
        try:
            self._websockets = await websockets.serve(
                self._handle,
                settings.host,
                settings.port,
                # A browser names the page that connects: a page must not reach a local server unasked.
                origins=origins,
                compression=None,  # frames are small, and time counts
                process_request=self._process_request,
                server_header="codeserve",
                ping_interval=settings.ping_seconds,
                ping_timeout=settings.ping_seconds,
                close_timeout=2,
                max_size=settings.max_frame_bytes,
                max_queue=_FRAMES_AHEAD,
                write_limit=_WRITE_BYTES,
                logger=quiet_logger(),
            )
        except OSError as exc:
            raise ConfigError(_bind_error(settings, exc)) from None
        self._port = self._websockets.sockets[0].getsockname()[1]
        _log.info("listening", host=settings.host, port=self.port)
        self._background.append(asyncio.create_task(self._watch()))
        if self._owns_engine:
            self._background.append(asyncio.create_task(self._start_engine()))

    async def _start_engine(self) -> None:
        try:
            await self._engine.start()
        except CodeserveError as exc:
            self._fail(exc)
        except Exception as exc:
            self._fail(EngineStartError(f"the engine failed to start: {origin_of(exc)}"))

    def _fail(self, error: CodeserveError) -> None:
        _log.error("engine failed", reason=str(error))
        self._failure = self._failure or error
        self._failed.set()

    async def _watch(self) -> None:
        """Tell everyone when the engine's state changes."""
        state = self._engine.state
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            if state is self._engine.state:
                continue
            state = self._engine.state
            _log.info("engine", state=str(state), reason=self._engine.failure)
            self._tell()
            if state is EngineState.FAILED and not self._context.stopping and not self._failed.is_set():
                self._fail(EngineStartError(self._engine.failure or "the engine cannot be brought up"))

    def _tell(self) -> None:
        for connection in self._connections:
            connection.tell(self._context.status)

    def _process_request(self, socket: websockets.ServerConnection, request: Request) -> Response | None:
        return answer(self._context, socket, request, len(self._connections))

    async def _handle(self, socket: websockets.ServerConnection) -> None:
        connection = Connection(socket, self._context)
        self._connections.add(connection)
        try:
            await connection.run()
        except Exception as exc:
            _log.error("connection failed", origin=origin_of(exc))
        finally:
            self._connections.discard(connection)

    async def close(self) -> None:
        """Take no more, give live requests ``drain_seconds``, close connections, stop the engine."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        _log.info("stopping", live=self._context.admission.live)
        self._context.stopping = True
        if self._websockets is not None:
            self._websockets.close(close_connections=False)
        self._tell()
        await self._drain()
        await asyncio.gather(*(connection.stop() for connection in list(self._connections)))
        if self._websockets is not None:
            await self._websockets.wait_closed()
        await self._context.settle()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        if self._owns_engine:
            await self._engine.close()
        _log.info("stopped")

    async def _drain(self) -> None:
        await _first(self._context.admission.idle, self._hurry, seconds=self._settings.drain_seconds)

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT; a second one stops without waiting for live requests.

        Raises: ConfigError when it cannot listen, EngineStartError or ConfigError when the engine cannot be
        brought up.
        """
        loop = asyncio.get_running_loop()
        asked = asyncio.Event()

        def stop() -> None:
            if asked.is_set():
                self._hurry.set()
            asked.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        try:
            try:
                await self.start()
                await _first(asked, self._failed)
            finally:
                await self.close()
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
        # Ctrl-C reaches the engine's processes too: their end is no failure then.
        if self._failure is not None and not asked.is_set():
            raise self._failure


async def _first(*events: asyncio.Event, seconds: float | None = None) -> None:
    """Wait until one of the events is set, or the time is up."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in waits:
        task.cancel()


def _bind_error(settings: ServerSettings, error: OSError) -> str:
    """One line for why the server cannot listen, and what to do."""
    where = f"port {settings.port} on {settings.host}"
    other = "choose another with --port or CODESERVE_PORT"
    if error.errno == errno.EADDRINUSE:
        return f"{where} is taken, perhaps by another codeserve: stop it, or {other}"
    if error.errno == errno.EACCES:
        return f"{where} needs privileges: {other} (1024 or above)"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"host {settings.host} is no address of this machine: set --host or CODESERVE_HOST"
    return f"cannot listen on {where}: {error.strerror or type(error).__name__}"
