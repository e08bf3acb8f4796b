"""The HTTP client: time-outs, cancellation and pooling beyond what `tests/backends/openai_remote` covers."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from backends.shared import http_client
from backends.shared.http_client import HttpClient, HttpError, ReadTimeout
from tests.backends.openai_remote.scripted_server import Handler, chat, scripted_server

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BIG = b"x" * (32 << 20)  # bytes, more than socket buffers hold
SOON_S = 1.0


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
        thread.join(5)


def client(port: int, connect_timeout_s: float = 5.0) -> HttpClient:
    return HttpClient(f"http://127.0.0.1:{port}", connect_timeout_s=connect_timeout_s)


async def post(client: HttpClient, body: bytes = b"{}", read_timeout_s: float = 5.0) -> bytes:
    """POST and return the whole body."""
    async with client.request("POST", "/chat/completions", body, read_timeout_s=read_timeout_s) as response:
        return await response.read(1 << 20)


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


def test_a_large_body_may_take_longer_to_send_than_the_connect_timeout() -> None:
    def serve_slowly(connection: socket.socket) -> None:
        time.sleep(0.4)
        receive_all(connection)
        connection.sendall(ANSWER)

    with raw_server(serve_slowly) as port:
        patient = client(port, connect_timeout_s=0.1)

        async def use() -> None:
            assert await post(patient, BIG) == b"ok"

        run(patient, use=use)


def test_a_body_that_is_taken_slowly_is_no_read_timeout() -> None:
    def serve_slowly(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        size = 0
        while size < 8 << 20:
            size += len(connection.recv(1 << 20, socket.MSG_WAITALL))
            time.sleep(0.1)
        connection.sendall(ANSWER)

    with raw_server(serve_slowly) as port:
        patient = client(port)

        async def use() -> None:
            assert await post(patient, BIG[: 8 << 20], read_timeout_s=0.6) == b"ok"

        run(patient, use=use)


def test_a_server_that_does_not_read_the_body_is_a_read_timeout() -> None:
    done = threading.Event()
    with raw_server(lambda _: done.wait(5)) as port:
        impatient = client(port)

        async def use() -> None:
            with pytest.raises(ReadTimeout):
                await post(impatient, BIG, read_timeout_s=0.2)

        run(impatient, use=use)
        done.set()


def test_a_request_cancelled_while_its_body_is_sent_cuts_the_connection() -> None:
    proceed, sizes = threading.Event(), []

    def serve(connection: socket.socket) -> None:
        proceed.wait(5)
        sizes.append(received(connection))

    with raw_server(serve) as port:
        cancelled = client(port)

        async def use() -> None:
            await cancel_soon(post(cancelled, BIG))
            proceed.set()

        run(cancelled, use=use)
    assert 0 < sizes[0] < len(BIG)


def test_a_request_can_be_cancelled_while_a_proxy_opens_the_tunnel() -> None:
    done = threading.Event()
    with raw_server(lambda _: done.wait(5)) as port:
        proxy = f"http://127.0.0.1:{port}"
        through_proxy = HttpClient("https://remote.test", connect_timeout_s=5.0, proxy_url=proxy)
        run(through_proxy, use=lambda: cancel_soon(post(through_proxy)))
        done.set()


async def cancel_soon(request: Awaitable[bytes]) -> None:
    """Cancel a request under way, and check that it ends at once."""
    task = asyncio.ensure_future(request)
    await asyncio.sleep(0.2)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < SOON_S


def test_a_request_fails_after_the_client_was_closed() -> None:
    with scripted_server(chat("a"), chat("b")) as server:
        closed = HttpClient(server.url, connect_timeout_s=5.0)

        async def use() -> None:
            assert b"[DONE]" in await post(closed)
            closed.close()
            with pytest.raises(HttpError, match="closed"):
                await post(closed)

        run(use=use)


def test_a_configured_content_type_is_not_sent_twice() -> None:
    with scripted_server(chat("a")) as server:
        configured = HttpClient(server.url, headers={"content-type": "text/plain"}, connect_timeout_s=5.0)

        async def use() -> None:
            await post(configured)

        run(configured, use=use)
        (request,) = server.posts
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"


def test_a_response_that_is_left_early_closes_its_connection() -> None:
    unfinished = chat("a", "b")

    def keep_open(handler: Handler) -> None:
        unfinished(handler)
        handler.wait_for_disconnect()

    with scripted_server(keep_open) as server:
        leaving = HttpClient(server.url, connect_timeout_s=5.0)

        async def use() -> None:
            async with leaving.request("POST", "/chat/completions", b"{}") as response:
                assert response.status == 200

        run(leaving, use=use)


def test_idle_connections_are_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "IDLE_S", 0.1)

    def answer_and_wait(handler: Handler) -> None:
        chat("a")(handler)
        handler.wait_for_disconnect()

    with scripted_server(answer_and_wait) as server:
        pooled = HttpClient(server.url, connect_timeout_s=5.0)

        async def use() -> None:
            await post(pooled)
            assert await asyncio.to_thread(server.client_disconnected.wait, 5)

        run(pooled, use=use)


def test_an_idle_connection_is_reused_after_another_request_has_failed() -> None:
    received, proceed = threading.Event(), threading.Event()

    def cut(handler: Handler) -> None:
        received.set()
        proceed.wait(5)
        handler.cut_connection()

    with scripted_server(cut, chat("a"), chat("b")) as server:
        pooled = HttpClient(server.url, connect_timeout_s=5.0)

        async def use() -> None:
            failing = asyncio.ensure_future(post(pooled))
            assert await asyncio.to_thread(received.wait, 5)
            await post(pooled)
            proceed.set()
            with pytest.raises(HttpError):
                await failing
            await post(pooled)

        run(pooled, use=use)
    failed, first, second = (request.connection for request in server.posts)
    assert failed != first == second
