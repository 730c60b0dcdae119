"""A WebSocket client on a plain socket: for what a library's client takes care not to do."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import struct
from typing import Any

import orjson

__all__ = ["RawClient", "frame"]


def frame(**message: Any) -> bytes:
    """A message as a text frame, masked as a client's must be."""
    payload = orjson.dumps(message)
    mask = os.urandom(4)
    head = struct.pack("!BBH", 0x81, 0xFE, len(payload)) + mask
    return head + bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))


class RawClient:
    """A WebSocket client on a plain socket with a small receive buffer, which never reads by itself."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.setblocking(False)
        self._port = port

    async def open(self) -> None:
        """Connect, shake hands, say hello and read the welcome."""
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self.socket, ("127.0.0.1", self._port))
        key = base64.b64encode(os.urandom(16)).decode()
        request = (
            f"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        await loop.sock_sendall(self.socket, request.encode())
        await self.send(type="hello", version=1)
        seen = b""
        while b'"welcome"' not in seen:
            seen += await loop.sock_recv(self.socket, 4096)

    async def send(self, **message: Any) -> None:
        """Send one message."""
        await self.write(frame(**message))

    async def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def discard(self) -> None:
        """Read and forget, until the connection ends."""
        while await asyncio.get_running_loop().sock_recv(self.socket, 65_536):
            pass

    async def messages(self, id: str) -> list[dict[str, Any]]:
        """Read on until the request ``id`` has ended; returns its messages."""
        found: list[dict[str, Any]] = []
        while not found or found[-1]["type"] == "delta":
            _, size = await self._read(2)
            if size == 126:
                (size,) = struct.unpack("!H", await self._read(2))
            message = orjson.loads(await self._read(size))
            if message.get("id") == id:
                found.append(message)
        return found

    async def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += await asyncio.get_running_loop().sock_recv(self.socket, size - len(data))
        return data

    def close(self) -> None:
        self.socket.close()
