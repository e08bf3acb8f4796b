"""Servers on a plain socket, and how a test uses the HTTP client with them."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from http_client.client import HttpClient
from tests.support.waiting import scaled

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BIG = b"x" * (32 << 20)  # bytes, more than socket buffers hold
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SOON_S = scaled(1.0)


@contextmanager
def raw_server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A listener that calls `serve` with its first connection; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                serve(connection)

        thread = threading.Thread(target=run)
        thread.start()
        yield int(listener.getsockname()[1])
        thread.join(scaled(5))


def client(port: int, connect_timeout_s: float = 5.0) -> HttpClient:
    return HttpClient(f"http://127.0.0.1:{port}", connect_timeout_s=connect_timeout_s)


def run(*clients: HttpClient, use: Callable[[], Awaitable[None]]) -> None:
    """Run `use` on an event loop, then close the clients."""

    async def main() -> None:
        try:
            await use()
        finally:
            for one in clients:
                one.close()
            await asyncio.sleep(0.01)

    asyncio.run(main())


def receive_all(connection: socket.socket) -> None:
    size = 0
    while size < len(BIG):
        size += len(connection.recv(1 << 20))


def received(connection: socket.socket) -> int:
    """Read until the connection ends; return how many bytes came."""
    size = 0
    with suppress(ConnectionResetError):
        while data := connection.recv(1 << 20):
            size += len(data)
    return size


def answering(*pieces: bytes, until: threading.Event | None = None) -> Callable[[socket.socket], None]:
    """Read a request's head, then send the pieces one by one and close the connection."""

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.02)
        if until is not None:
            until.wait(scaled(5))

    return serve


async def post(client: HttpClient, body: bytes = b"{}", read_timeout_s: float = 5.0) -> bytes:
    """POST and return the whole body."""
    async with client.request("POST", "/chat/completions", body, read_timeout_s=read_timeout_s) as response:
        return await response.read(1 << 20)


async def cancel_when(is_under_way: threading.Event, request: Awaitable[bytes]) -> None:
    """Cancel a request once it is under way, and check that it ends at once."""
    task = asyncio.ensure_future(request)
    assert await asyncio.to_thread(is_under_way.wait, scaled(10))
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < SOON_S
