"""A WebSocket (RFC 6455) that is only read: the events of a managed server on the loopback interface.

There is no TLS, no proxy and no extension; messages of the client are those that the protocol requires.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import struct
from collections.abc import Mapping
from types import TracebackType

from http_client.connection import MAX_HEAD_BYTES, HttpError
from http_client.connector import head

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
CONTINUATION, TEXT, BINARY, CLOSE, PING = 0, 1, 2, 8, 9
PONG = 10


class WebSocketClosed(Exception):
    """The cause of an `HttpError` where the server has closed the socket, or does not follow the protocol."""


class WebSocket:
    """One socket, for `async with`; `max_bytes` bounds a message. Raises `HttpError`."""

    def __init__(  # noqa: PLR0913 - each describes the connection
        self,
        host: str,
        port: int,
        path: str,
        *,
        headers: Mapping[str, str],
        timeout_s: float,
        max_bytes: int,
    ) -> None:
        self._address = host, port
        self._path = path
        self._headers = headers
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def __aenter__(self) -> WebSocket:
        """Open it."""
        try:
            async with asyncio.timeout(self._timeout_s):
                host, port = self._address
                self._reader, self._writer = await asyncio.open_connection(host, port, limit=MAX_HEAD_BYTES)
                try:
                    await self._shake_hands()
                except BaseException:
                    self._writer.transport.abort()
                    raise
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, WebSocketClosed) as error:
            raise HttpError(error) from error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Cut it."""
        self._writer.transport.abort()

    async def receive(self) -> str | bytes:
        """Wait for the next message. Not to be cancelled: a part of a message would be lost."""
        try:
            return await self._message()
        except (OSError, asyncio.IncompleteReadError, WebSocketClosed) as error:
            raise HttpError(error) from error

    async def _shake_hands(self) -> None:
        key = base64.b64encode(os.urandom(16))
        host, port = self._address
        headers = {
            "host": f"{host}:{port}",
            "upgrade": "websocket",
            "connection": "Upgrade",
            "sec-websocket-key": key.decode(),
            "sec-websocket-version": "13",
            **self._headers,
        }
        self._writer.write(head(f"GET {self._path}", headers))
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = answer[0].split(" ", 2)
        if status[1:2] != ["101"]:
            raise WebSocketClosed(f"it answered {' '.join(status[1:])[:100]}")
        fields = dict(line.split(":", 1) for line in answer[1:] if ":" in line)
        accepted = {name.lower(): value.strip() for name, value in fields.items()}.get("sec-websocket-accept")
        expected = base64.b64encode(hashlib.sha1(key + GUID, usedforsecurity=False).digest()).decode()
        if accepted != expected:
            raise WebSocketClosed("it does not speak WebSocket")

    async def _message(self) -> str | bytes:
        pieces: list[bytes] = []
        size, kind = 0, TEXT
        while True:
            first, opcode, data = await self._frame(self._max_bytes - size)
            if opcode == PING:
                self._send(PONG, data)
            elif opcode == CLOSE:
                self._send(CLOSE, data[:2])
                raise WebSocketClosed("it closed the socket")
            elif opcode in (TEXT, BINARY, CONTINUATION):
                kind = opcode or kind
                size += len(data)
                pieces.append(data)
                if first & 0x80:
                    message = b"".join(pieces)
                    return message.decode("utf-8", "replace") if kind == TEXT else message
            elif opcode != PONG:
                raise WebSocketClosed(f"it sent a frame of the unknown kind {opcode}")

    async def _frame(self, limit: int) -> tuple[int, int, bytes]:
        """Read a frame. Returns its first byte, its opcode and its data."""
        first, second = await self._reader.readexactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", await self._reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", await self._reader.readexactly(8))
        if second & 0x80 or first & 0x70 or size > limit:
            raise WebSocketClosed("it sent a frame that is masked, extended or too long")
        return first, first & 0x0F, await self._reader.readexactly(size)

    def _send(self, opcode: int, data: bytes) -> None:
        """Send a control frame (at most 125 bytes of data), masked as those of clients have to be."""
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        self._writer.write(bytes((0x80 | opcode, 0x80 | len(data))) + mask + masked)
