"""The HTTP client: time-outs, cancellation and pooling beyond what `tests/backends/openai_remote` covers."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from backends.shared import http_client, http_connection
from backends.shared.http_client import HttpClient, HttpError, ReadTimeout
from tests.backends.openai_remote.scripted_server import Handler, chat, scripted_server

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BIG = b"x" * (32 << 20)  # bytes, more than socket buffers hold
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
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


def answering(*pieces: bytes, until: threading.Event | None = None) -> Callable[[socket.socket], None]:
    """Read a request's head, then send the pieces one by one and close the connection."""

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.02)
        if until is not None:
            until.wait(5)

    return serve


def response_to(*pieces: bytes, body: bytes = b"{}") -> tuple[int, bytes]:
    """The status and the body that the client reads from such a server."""
    results: list[tuple[int, bytes]] = []
    with raw_server(answering(*pieces)) as port:
        one = client(port)

        async def use() -> None:
            async with one.request("POST", "/x", body, read_timeout_s=5) as response:
                results.append((response.status, await response.read(1 << 20)))

        run(one, use=use)
    return results[0]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok", b"ok"], (200, b"okok")),
        ([b"HTTP/1.1 200 OK\r\n\r\nuntil", b" the end"], (200, b"until the end")),
        ([b"HTTP/1.0 200 OK\n\nold"], (200, b"old")),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], (204, b"")),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"], (200, b"ok")),
        (
            [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 201 C\r\nContent-Length: 1\r\n\r\nx"],
            (201, b"x"),
        ),
        (
            [
                CHUNKED + b"2\r\no",
                b"k\r\n3 \r\nyes\r\n0\r\nA: b\r\n\r\n",
            ],
            (200, b"okyes"),
        ),
    ],
)
def test_a_response_is_read_to_its_end_in_every_framing(
    pieces: list[bytes], expected: tuple[int, bytes]
) -> None:
    assert response_to(*pieces) == expected


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ntoo",
        CHUNKED + b"9\r\ntoo",
        CHUNKED + b"3\r\ntoo\r\n",
        CHUNKED + b"size\r\ntoo\r\n",
        b"HTTP/1.1 200 OK\r\nContent-",
        b"HTTP/1.1 099 x\r\nContent-Length: 5\r\n\r\nevil!HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * (1 << 17),
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"",
    ],
)
def test_a_response_that_is_cut_or_no_http_is_an_error(head: bytes) -> None:
    with pytest.raises(HttpError):
        response_to(head)


def test_a_response_before_the_end_of_the_body_is_read_and_its_connection_closed() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"
    closed = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 10)
        connection.sendall(refusal)
        time.sleep(0.2)
        received(connection)
        closed.set()

    with raw_server(serve) as port:
        refused = client(port)

        async def use() -> None:
            async with refused.request("POST", "/x", BIG, read_timeout_s=5) as response:
                assert (response.status, await response.read(10)) == (413, b"no")
            assert await asyncio.to_thread(closed.wait, SOON_S)

        run(refused, use=use)


def test_a_body_that_is_not_read_is_not_received_without_bound() -> None:
    sent: list[int] = []
    stuck = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BIG))
        connection.settimeout(0.3)
        size = 0
        with suppress(TimeoutError, ConnectionError):
            while size < len(BIG):
                size += connection.send(BIG[:65536])
        sent.append(size)
        stuck.set()
        connection.settimeout(5)
        connection.sendall(BIG[size:])

    with raw_server(serve) as port:
        slow = client(port)

        async def use() -> None:
            async with slow.request("POST", "/x", b"{}", read_timeout_s=0.2) as response:
                assert await asyncio.to_thread(stuck.wait, 5)  # longer than the read timeout
                assert not response._connection.is_complete
                size = 0
                while piece := await response.read_some():
                    size += len(piece)
                assert size == len(BIG)

        run(slow, use=use)
    assert sent[0] < len(BIG)


def test_a_pooled_connection_that_the_server_has_closed_is_replaced() -> None:
    def answer_and_close(handler: Handler) -> None:
        chat("a")(handler)
        handler.cut_connection()

    with scripted_server(answer_and_close, chat("b")) as server:
        pooled = HttpClient(server.url, connect_timeout_s=5.0)

        async def use() -> None:
            await post(pooled)
            connection, _since = pooled._idle[-1]
            while not connection.is_closed:
                await asyncio.sleep(0.01)
            connection.is_closed = False  # as if its end had not been noticed yet
            assert b'"b"' in await post(pooled)

        run(pooled, use=use)
        assert len(server.posts) == 2


def test_bytes_without_a_request_end_an_idle_connection() -> None:
    done = threading.Event()
    with raw_server(answering(ANSWER, b"HTTP/1.1 200 OK\r\n", until=done)) as port:
        confused = client(port)

        async def use() -> None:
            assert await post(confused) == b"ok"
            connection, _since = confused._idle[-1]
            await asyncio.sleep(0.1)
            assert connection.is_closed

        run(confused, use=use)
        done.set()


def test_a_header_with_a_line_break_is_not_sent() -> None:
    with scripted_server(chat("a")) as server:
        careful = HttpClient(server.url, connect_timeout_s=5.0)

        async def use() -> None:
            with pytest.raises(HttpError, match="line break"):
                async with careful.request("POST", "/x", b"{}", headers={"x-tag": "a\r\nx-admin: 1"}):
                    pass

        run(careful, use=use)
        assert not server.posts


def test_a_second_response_to_one_request_is_not_taken_for_the_next() -> None:
    both = ANSWER + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    done = threading.Event()
    with raw_server(answering(both, until=done)) as port:
        confused = client(port)

        async def use() -> None:
            async with confused.request("POST", "/x", b"{}", read_timeout_s=5) as response:
                assert (response.status, await response.read(10)) == (200, b"ok")
            assert not confused._idle

        run(confused, use=use)
        done.set()


def test_a_connection_whose_body_was_not_read_serves_the_next_request() -> None:
    size = http_connection.MAX_UNREAD_BYTES + 100_000

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size))
        connection.recv(1 << 16)
        connection.sendall(ANSWER)

    with raw_server(serve) as port:
        one = client(port)

        async def use() -> None:
            async with one.request("POST", "/x", b"{}", read_timeout_s=5) as response:
                while not response._connection.is_complete:  # uvloop reads all of it at once
                    await asyncio.sleep(0.01)
                    response._connection.transport.resume_reading()
            assert await post(one, read_timeout_s=2) == b"ok"

        run(one, use=use)


def test_a_proxy_that_sends_more_than_its_answer_opens_no_tunnel() -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\ndata: {}\n\n")
        received(connection)

    with raw_server(serve) as port:
        proxy = f"http://127.0.0.1:{port}"
        tls = ssl.create_default_context()
        tunnelled = HttpClient("https://remote.test", connect_timeout_s=5.0, proxy_url=proxy, tls=tls)

        async def use() -> None:
            with pytest.raises(HttpError, match="more than its answer"):
                await post(tunnelled)

        run(tunnelled, use=use)


def test_a_body_is_sent_to_its_end_when_the_head_of_its_answer_comes_early() -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 10)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        size = 1 << 10
        while size < len(BIG):
            size += len(connection.recv(1 << 20))
        connection.sendall(b"ok")

    with raw_server(serve) as port:
        eager = client(port)

        async def use() -> None:
            assert await post(eager, BIG) == b"ok"

        run(eager, use=use)


def test_the_delay_of_the_reader_is_not_the_silence_of_the_server() -> None:
    proceed = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok")
        proceed.wait(5)
        time.sleep(0.2)
        connection.sendall(b"ok")

    with raw_server(serve) as port:
        patient = client(port)

        async def use() -> None:
            async with patient.request("POST", "/x", b"{}", read_timeout_s=0.4) as response:
                await asyncio.sleep(0.35)
                assert await response.read_some() == b"ok"
                proceed.set()
                assert await response.read_some() == b"ok"

        run(patient, use=use)


@pytest.mark.parametrize("endless", [b"0\r\nX: ", b"5;x="])
def test_trailers_and_chunk_extensions_are_not_received_without_bound(endless: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        with suppress(OSError):
            connection.sendall(CHUNKED + endless)
            while True:
                connection.sendall(b"a" * 4096)

    with raw_server(serve) as port:
        bounded = client(port)

        async def use() -> None:
            with pytest.raises(HttpError, match="too long"):
                await post(bounded)

        run(bounded, use=use)


def test_a_request_is_repeated_once_when_all_idle_connections_are_closed() -> None:
    answered = threading.Barrier(3)

    def answer_and_wait(handler: Handler) -> None:
        chat("a")(handler)
        answered.wait(5)

    def close(handler: Handler) -> None:
        handler.cut_connection()

    with scripted_server(answer_and_wait, answer_and_wait, answer_and_wait, close, close, close) as server:
        pooled = HttpClient(server.url, connect_timeout_s=5.0)

        async def use() -> None:
            await asyncio.gather(*[post(pooled) for _ in range(3)])
            with pytest.raises(HttpError):
                await post(pooled)

        run(pooled, use=use)
        assert len(server.posts) == 5
