"""The HTTP client reads answers in every framing, and nothing without bound."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import suppress

import pytest

from http_client.client import HttpClient, HttpError
from tests.backends.openai_remote.scripted_server import chat, scripted_server
from tests.http_client.raw_servers import BIG, CHUNKED, answering, client, post, raw_server, run
from tests.support.waiting import scaled


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


def test_a_body_that_is_not_read_is_not_received_without_bound() -> None:
    sent: list[int] = []
    stuck = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BIG))
        connection.settimeout(scaled(0.8))
        size = 0
        with suppress(TimeoutError, ConnectionError):
            while size < len(BIG):
                size += connection.send(BIG[:65536])
        sent.append(size)
        stuck.set()
        connection.settimeout(scaled(5))
        connection.sendall(BIG[size:])

    with raw_server(serve) as port:
        slow = client(port)

        async def use() -> None:
            async with slow.request("POST", "/x", b"{}", read_timeout_s=scaled(0.5)) as response:
                assert await asyncio.to_thread(stuck.wait, scaled(5))  # longer than the read timeout
                assert not response._connection.is_complete
                size = 0
                while piece := await response.read_some():
                    size += len(piece)
                assert size == len(BIG)

        run(slow, use=use)
    assert sent[0] < len(BIG)


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


def test_a_header_with_a_line_break_is_not_sent() -> None:
    with scripted_server(chat("a")) as server:
        careful = HttpClient(server.url, connect_timeout_s=5.0)

        async def use() -> None:
            with pytest.raises(HttpError, match="line break"):
                async with careful.request("POST", "/x", b"{}", headers={"x-tag": "a\r\nx-admin: 1"}):
                    pass

        run(careful, use=use)
        assert not server.posts


def test_a_configured_content_type_is_not_sent_twice() -> None:
    with scripted_server(chat("a")) as server:
        configured = HttpClient(server.url, headers={"content-type": "text/plain"}, connect_timeout_s=5.0)

        async def use() -> None:
            await post(configured)

        run(configured, use=use)
        (request,) = server.posts
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"


def test_the_delay_of_the_reader_is_not_the_silence_of_the_server() -> None:
    proceed = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok")
        proceed.wait(scaled(5))
        time.sleep(scaled(0.3))
        connection.sendall(b"ok")

    with raw_server(serve) as port:
        patient = client(port)

        async def use() -> None:
            async with patient.request("POST", "/x", b"{}", read_timeout_s=scaled(1.0)) as response:
                await asyncio.sleep(scaled(0.9))
                assert await response.read_some() == b"ok"
                proceed.set()
                assert await response.read_some() == b"ok"

        run(patient, use=use)
