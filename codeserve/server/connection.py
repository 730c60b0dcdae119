"""One client: its hello, the frames it sends, the messages it gets."""

from __future__ import annotations

import asyncio
from time import monotonic

import structlog
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from codeserve.engine.levers import LEVERS
from codeserve.errors import EngineUnavailable, RequestError
from codeserve.protocol import (
    MAX_CANDIDATES,
    PROTOCOL_VERSION,
    Admin,
    Cancel,
    ClientMessage,
    Complete,
    Error,
    ErrorCode,
    Feedback,
    Hello,
    Limits,
    Prewarm,
    ProtocolError,
    Report,
    Status,
    Welcome,
)
from codeserve.server.auth import Access
from codeserve.server.context import Context
from codeserve.server.logging import label, origin_of
from codeserve.server.mailbox import Mailbox
from codeserve.server.requests import Requests
from codeserve.wire import decode_client, encode

__all__ = ["Connection"]

_log = structlog.get_logger("codeserve.connection")

_MAX_ID_CHARS = 256  # of an id that is repeated in an error; longer ones are refused anyway
_ADMIN_ACTIONS = ("status", *LEVERS)
_FLUSH_SECONDS = 1.0  # for the last messages of a connection that the server closes


class Connection:
    """Reads a client's frames in order and never lets one of them end the connection, but a bad hello."""

    def __init__(self, socket: ServerConnection, context: Context) -> None:
        self._socket = socket
        self._context = context
        self._mailbox = Mailbox()
        self._access = Access("anonymous")
        self._requests = Requests(context, self._mailbox)
        self._greeted = False
        self._writer: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serve the client until it leaves."""
        try:
            await self._serve()
        except ConnectionClosed:
            pass
        finally:
            self._requests.abandon()
            self._mailbox.close()
            if self._writer is not None:
                self._writer.cancel()
                await asyncio.wait([self._writer])

    async def _serve(self) -> None:
        refused = await self._greet()
        if refused is not None:
            await self._refuse_hello(refused)
            return
        self._writer = asyncio.create_task(self._write())
        while True:
            await self._mailbox.room()
            frame = await self._socket.recv()
            self._take(frame, monotonic())
            await asyncio.sleep(0)  # reading does not wait while frames are there: let others have their turn

    async def _greet(self) -> Error | None:
        """Wait for a good hello and answer it; returns what is wrong with any other beginning."""
        try:
            async with asyncio.timeout(self._context.settings.hello_seconds):
                frame = await self._socket.recv()
            hello = decode_client(frame)
        except TimeoutError:
            return Error(ErrorCode.HELLO_REQUIRED, "no hello came: send one as the first frame")
        except ProtocolError as exc:
            return Error(exc.code, str(exc))
        if not isinstance(hello, Hello):
            return Error(ErrorCode.HELLO_REQUIRED, "the first frame must be a hello")
        if hello.version != PROTOCOL_VERSION:
            return Error(
                ErrorCode.UNSUPPORTED_VERSION,
                f"this server speaks version {PROTOCOL_VERSION} of the protocol: "
                f"update the {'client' if hello.version < PROTOCOL_VERSION else 'server'}",
            )
        access = self._context.authenticator.check(hello.token)
        if access is None:
            what = "is not known here" if hello.token else "is needed"
            return Error(ErrorCode.UNAUTHORIZED, f"a token {what}: set the one that the server was given")
        self._access = access
        self._greeted = True
        self._requests.client = client = label(hello.client)
        _log.info("connected", client=client, token=access.name)
        info, settings = self._context.engine.info, self._context.settings
        limits = Limits(
            frame_bytes=settings.max_frame_bytes,
            # More than there is ever room for would be told to come back later, for ever.
            candidates=min(MAX_CANDIDATES, settings.max_pending, settings.max_pending_per_connection),
            context_tokens=info.context_tokens,
            snippet_tokens=self._context.builder.snippet_tokens,
        )
        self._mailbox.put(Welcome(PROTOCOL_VERSION, info.model, limits, str(self._context.state)))
        if self._context.state != "ready":
            self._mailbox.put(self._context.status)
        return None

    async def _refuse_hello(self, error: Error) -> None:
        self._context.metrics.error(error.code)
        _log.warning("hello refused", code=str(error.code))
        await self._close(CloseCode.POLICY_VIOLATION, str(error.code), encode(error))

    async def _close(self, code: CloseCode, reason: str, last: str | None = None) -> None:
        """Close in good order, after a ``last`` frame; a client that takes nothing is dropped."""
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                if last is not None:
                    await self._socket.send(last)
                await self._socket.close(code, reason)
        except TimeoutError:
            self._socket.transport.abort()

    async def _write(self) -> None:
        """Send what is in the mailbox; drop a client that has stopped reading."""
        try:
            while (message := await self._mailbox.next()) is not None:
                async with asyncio.timeout(self._context.settings.send_seconds):
                    await self._socket.send(encode(message))
        except ConnectionClosed:
            pass
        except TimeoutError:
            _log.warning("client dropped: it has stopped reading", unsent=len(self._mailbox))
            self._socket.transport.abort()
        finally:
            self._mailbox.close()  # wakes the reader, which finds the connection closed

    def _take(self, frame: str | bytes, arrived: float) -> None:
        try:
            self._dispatch(decode_client(frame), arrived)
        except ProtocolError as exc:
            id = exc.id if exc.id is not None and len(exc.id) <= _MAX_ID_CHARS else None
            self._error(exc.code, str(exc), id)
        except Exception as exc:
            _log.error("frame failed", origin=origin_of(exc))
            self._error(ErrorCode.INTERNAL, "the server failed on this frame; its log says where")

    def _dispatch(self, message: ClientMessage, arrived: float) -> None:
        match message:
            case Complete() | Prewarm():
                self._requests.start(message, arrived)
            case Cancel():
                self._requests.cancel(message.id)
            case Feedback():
                self._context.metrics.feedback(message.event, message.characters or 0)
            case Admin():
                self._administer(message)
            case Hello():
                self._error(ErrorCode.INVALID, "hello: this connection has had its hello")

    def _administer(self, message: Admin) -> None:
        if not self._access.admin:
            self._error(ErrorCode.FORBIDDEN, "admin: this takes a token with the admin scope", message.id)
        elif message.action not in _ADMIN_ACTIONS:
            known = ", ".join(_ADMIN_ACTIONS)
            self._error(ErrorCode.INVALID, f"admin.action: no such action; there is: {known}", message.id)
        elif message.action == "status":
            self._mailbox.put(self._context.status)
        else:
            self._context.spawn(self._pull(message))

    async def _pull(self, message: Admin) -> None:
        """Have the engine do what the operator wants."""
        try:
            done = await self._context.engine.administer(message.action, message.seconds)
        except EngineUnavailable as exc:
            self._error(ErrorCode.UNAVAILABLE, str(exc), message.id)
        except RequestError as exc:
            self._error(exc.code, str(exc), message.id)
        except Exception as exc:
            _log.error("admin failed", action=message.action, origin=origin_of(exc))
            self._error(ErrorCode.INTERNAL, "the server failed on this; its log says where", message.id)
        else:
            _log.info("admin", action=message.action, token=self._access.name)
            self._mailbox.put(Report(message.action, done, message.id))

    def _error(self, code: str, message: str, id: str | None = None) -> None:
        self._context.metrics.error(code)
        self._mailbox.put(Error(code, message, id))

    def tell(self, status: Status) -> None:
        """Let the client know of a change, if it has said hello."""
        if self._greeted:
            self._mailbox.put(status)

    async def stop(self) -> None:
        """End the connection because the server stops: live requests get an error, the client a reason."""
        self._requests.stop()
        self._mailbox.close()
        if self._writer is not None:
            await asyncio.wait([self._writer], timeout=_FLUSH_SECONDS)
        await self._close(CloseCode.GOING_AWAY, "the server stops")
