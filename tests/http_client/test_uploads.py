"""The HTTP client sends large bodies: time-outs, cancellation, and answers before their end."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest

from http_client.client import ReadTimeout
from tests.http_client.raw_servers import (
    ANSWER,
    BIG,
    SOON_S,
    cancel_when,
    client,
    post,
    raw_server,
    receive_all,
    received,
    run,
)
from tests.support.waiting import scaled


def test_a_large_body_may_take_longer_to_send_than_the_connect_timeout() -> None:
    def serve_slowly(connection: socket.socket) -> None:
        time.sleep(scaled(0.9))
        receive_all(connection)
        connection.sendall(ANSWER)

    with raw_server(serve_slowly) as port:
        patient = client(port, connect_timeout_s=scaled(0.5))

        async def use() -> None:
            assert await post(patient, BIG) == b"ok"

        run(patient, use=use)


def test_a_body_that_is_taken_slowly_is_no_read_timeout() -> None:
    def serve_slowly(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        size = 0
        while size < 8 << 20:
            size += len(connection.recv(1 << 20, socket.MSG_WAITALL))
            time.sleep(0.35)  # eight times: longer than the limit in all
        connection.sendall(ANSWER)

    with raw_server(serve_slowly) as port:
        patient = client(port)

        async def use() -> None:
            assert await post(patient, BIG[: 8 << 20], read_timeout_s=2) == b"ok"

        run(patient, use=use)


def test_a_server_that_does_not_read_the_body_is_a_read_timeout() -> None:
    done = threading.Event()
    with raw_server(lambda _: done.wait(scaled(5))) as port:
        impatient = client(port)

        async def use() -> None:
            with pytest.raises(ReadTimeout):
                await post(impatient, BIG, read_timeout_s=0.2)

        run(impatient, use=use)
        done.set()


def test_a_request_cancelled_while_its_body_is_sent_cuts_the_connection() -> None:
    begun, proceed, sizes = threading.Event(), threading.Event(), []

    def serve(connection: socket.socket) -> None:
        connection.recv(1, socket.MSG_PEEK)
        begun.set()
        proceed.wait(scaled(5))
        sizes.append(received(connection))

    with raw_server(serve) as port:
        cancelled = client(port)

        async def use() -> None:
            await cancel_when(begun, post(cancelled, BIG))
            proceed.set()

        run(cancelled, use=use)
    assert 0 < sizes[0] < len(BIG)


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
