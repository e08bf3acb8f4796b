"""The HTTP client keeps connections for later requests, and closes those that cannot be used again."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading

import pytest

from http_client import client as client_module
from http_client import connection as connection_module
from http_client.client import HttpClient, HttpError
from tests.backends.openai_remote.scripted_server import Handler, chat, scripted_server
from tests.http_client.raw_servers import (
    ANSWER,
    answering,
    cancel_when,
    client,
    post,
    raw_server,
    received,
    run,
)
from tests.support.waiting import scaled


def test_a_request_can_be_cancelled_while_a_proxy_opens_the_tunnel() -> None:
    asked, done = threading.Event(), threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        asked.set()
        done.wait(scaled(5))

    with raw_server(serve) as port:
        proxy = f"http://127.0.0.1:{port}"
        through_proxy = HttpClient("https://remote.test", connect_timeout_s=5.0, proxy_url=proxy)
        run(through_proxy, use=lambda: cancel_when(asked, post(through_proxy)))
        done.set()


def test_a_request_fails_after_the_client_was_closed() -> None:
    with scripted_server(chat("a"), chat("b")) as server:
        closed = HttpClient(server.url, connect_timeout_s=5.0)

        async def use() -> None:
            assert b"[DONE]" in await post(closed)
            closed.close()
            with pytest.raises(HttpError, match="closed"):
                await post(closed)

        run(use=use)


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
    monkeypatch.setattr(client_module, "IDLE_S", 0.1)

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
        proceed.wait(scaled(5))
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
    is_idle, done = threading.Event(), threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(ANSWER)
        is_idle.wait(scaled(5))
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        done.wait(scaled(5))

    with raw_server(serve) as port:
        confused = client(port)

        async def use() -> None:
            assert await post(confused) == b"ok"
            connection, _since = confused._idle[-1]
            assert not connection.is_closed
            is_idle.set()
            async with asyncio.timeout(scaled(5)):
                while not connection.is_closed:
                    await asyncio.sleep(0.01)

        run(confused, use=use)
        done.set()


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
    size = connection_module.MAX_UNREAD_BYTES + 100_000

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


def test_a_request_is_repeated_once_when_all_idle_connections_are_closed() -> None:
    answered = threading.Barrier(3)

    def answer_and_wait(handler: Handler) -> None:
        chat("a")(handler)
        answered.wait(scaled(5))

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
