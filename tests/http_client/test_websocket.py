"""The reader of a WebSocket, against a server whose bytes a test chooses."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
from collections.abc import Awaitable, Callable

import pytest

from http_client.client import HttpError
from http_client.websocket import GUID, WebSocket

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
T = 10.0


def frame(opcode: int, data: bytes, *, final: bool = True) -> bytes:
    size = len(data)
    if size < 126:
        length = bytes([size])
    else:
        length = struct.pack(">BH", 126, size) if size < 1 << 16 else struct.pack(">BQ", 127, size)
    return bytes([(0x80 if final else 0) | opcode]) + length + data


def run(script: Script, use: Callable[[WebSocket], Awaitable[None]], *, accepts: bool = True) -> bytes:
    """Open a socket to a server that follows a script after the handshake. Returns the request's head."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heads.append(head)
        lines = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        key = lines[b"sec-websocket-key"]
        digest = hashlib.sha1(key + GUID, usedforsecurity=False).digest() if accepts else b"another"
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n")
        writer.write(b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n")
        await script(reader, writer)
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        headers = {"authorization": "Bearer key"}
        async with (
            server,
            WebSocket(
                "127.0.0.1", port, "/ws?clientId=a", headers=headers, timeout_s=T, max_bytes=1 << 17
            ) as socket,
        ):
            await use(socket)

    asyncio.run(main())
    return heads[0]


def sending(*data: bytes) -> Script:
    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in data:
            writer.write(piece)
            await writer.drain()

    return script


def test_messages_of_each_size_are_received() -> None:
    messages: list[str | bytes] = ["", "ä" * 100, "x" * 70_000, b"\0\1"]

    async def use(socket: WebSocket) -> None:
        assert [await socket.receive() for _ in messages] == messages

    frames = [
        frame(2 if isinstance(m, bytes) else 1, m if isinstance(m, bytes) else m.encode()) for m in messages
    ]
    head = run(sending(*frames), use)
    assert head.startswith(b"GET /ws?clientId=a HTTP/1.1\r\n")
    assert b"authorization: Bearer key\r\n" in head


def test_a_message_in_pieces_is_joined_around_a_ping() -> None:
    answers: list[bytes] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(frame(1, b"he", final=False) + frame(9, b"ping") + frame(0, b"llo"))
        answers.append(await reader.readexactly(6 + 4))

    async def use(socket: WebSocket) -> None:
        assert await socket.receive() == "hello"
        await asyncio.sleep(0)

    run(script, use)
    first, size, *mask = answers[0][:6]
    assert (first, size) == (0x8A, 0x80 | 4)
    assert bytes(byte ^ mask[at % 4] for at, byte in enumerate(answers[0][6:])) == b"ping"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (frame(8, b""), "closed the socket"),
        (b"", "bytes read"),
        (frame(1, b"x" * 200)[:-1], "bytes read"),
        (frame(2, b"x" * (1 << 17) + b"x"), "too long"),
        (b"\x81\x81mask!", "masked"),
        (b"\xc1\x01x", "extended"),
        (frame(5, b""), "unknown kind 5"),
    ],
)
def test_a_socket_that_ends_or_misbehaves_raises_an_error(sent: bytes, reason: str) -> None:
    async def use(socket: WebSocket) -> None:
        with pytest.raises(HttpError, match=reason):
            await socket.receive()

    run(sending(sent), use)


def test_a_server_that_does_not_know_the_key_is_refused() -> None:
    async def use(_socket: WebSocket) -> None:
        raise AssertionError

    with pytest.raises(HttpError, match="does not speak WebSocket"):
        run(sending(), use, accepts=False)


def test_another_status_is_an_error() -> None:
    async def main() -> None:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            with pytest.raises(HttpError, match="401 Unauthorized"):
                async with WebSocket("127.0.0.1", port, "/ws", headers={}, timeout_s=T, max_bytes=1):
                    pass

    asyncio.run(main())
