"""The HTTP client: time-outs, cancellation and pooling beyond what `tests/backends/openai_remote` covers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from urllib3.exceptions import HTTPError

from backends.shared import http_client
from backends.shared.http_client import CallCancelled, HttpCall, HttpClient, chunks, root_cause
from tests.backends.openai_remote.scripted_server import Handler, chat, scripted_server

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BIG = b"x" * (32 << 20)  # bytes, more than socket buffers hold
CANCEL_S = 1.0


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


def receive_all(connection: socket.socket) -> None:
    size = 0
    while size < len(BIG):
        size += len(connection.recv(1 << 20))


def test_a_large_body_may_take_longer_to_send_than_the_connect_timeout() -> None:
    def serve_slowly(connection: socket.socket) -> None:
        time.sleep(0.4)
        receive_all(connection)
        connection.sendall(ANSWER)

    with raw_server(serve_slowly) as port:
        response = client(port, connect_timeout_s=0.1).request(HttpCall(5.0), "POST", "/", BIG)
        assert b"".join(chunks(response)) == b"ok"


def test_a_server_that_does_not_read_the_body_is_a_read_timeout() -> None:
    done = threading.Event()
    with raw_server(lambda _: done.wait(5)) as port:
        with pytest.raises(HTTPError) as caught:
            client(port).request(HttpCall(0.2), "POST", "/", BIG)
        done.set()
    assert isinstance(root_cause(caught.value), TimeoutError)


def test_a_call_can_be_cancelled_while_its_body_is_sent() -> None:
    done, call = threading.Event(), HttpCall()
    with raw_server(lambda _: done.wait(5)) as port:
        threading.Timer(0.2, call.cancel).start()
        started = time.monotonic()
        with pytest.raises(CallCancelled):
            client(port).request(call, "POST", "/", BIG)
        assert time.monotonic() - started < CANCEL_S
        done.set()


def test_a_call_can_be_cancelled_while_a_proxy_opens_the_tunnel() -> None:
    done, call = threading.Event(), HttpCall()
    with raw_server(lambda _: done.wait(5)) as port:
        through_proxy = HttpClient(
            "https://remote.test", connect_timeout_s=5.0, proxy_url=f"http://127.0.0.1:{port}"
        )
        threading.Timer(0.2, call.cancel).start()
        started = time.monotonic()
        with pytest.raises(CallCancelled):
            through_proxy.request(call, "GET", "/")
        assert time.monotonic() - started < CANCEL_S
        done.set()


def test_a_read_timeout_for_a_closed_connection_is_ignored() -> None:
    call, (near, far) = HttpCall(), socket.socketpair()
    with far:
        call.attach(near)
        near.close()
        call.set_read_timeout(1.0)


def test_a_configured_content_type_is_not_sent_twice() -> None:
    with scripted_server(chat("a")) as server:
        configured = HttpClient(server.url, headers={"content-type": "text/plain"}, connect_timeout_s=5.0)
        configured.request(HttpCall(5.0), "POST", "/chat/completions", b"{}").close()
        (request,) = server.posts
    assert request.headers["content-type"] == "application/json"


def test_connections_idle_for_too_long_are_closed_when_another_becomes_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attached: list[socket.socket] = []
    attach = HttpCall.attach

    def record(call: HttpCall, connection: socket.socket) -> None:
        attached.append(connection)
        attach(call, connection)

    monkeypatch.setattr(HttpCall, "attach", record)
    with scripted_server(*[chat("a")] * 3) as server:
        pooled = HttpClient(server.url, connect_timeout_s=5.0)
        calls = [HttpCall(5.0) for _ in range(3)]
        responses = [pooled.request(call, "POST", "/chat/completions", b"{}") for call in calls]
        for call, response, idle_s in zip(calls, responses, (20.0, 0.0, 20.0), strict=True):
            monkeypatch.setattr(http_client, "IDLE_S", idle_s)
            call.reuse_connection = True
            assert b"[DONE]" in b"".join(chunks(response))
    assert [connection.fileno() == -1 for connection in attached] == [True, False, False]
    pooled.close()
    assert all(connection.fileno() == -1 for connection in attached)


def test_an_idle_connection_is_reused_after_another_request_has_failed() -> None:
    received, proceed = threading.Event(), threading.Event()

    def cut(handler: Handler) -> None:
        received.set()
        proceed.wait(5)
        handler.cut_connection()

    with scripted_server(cut, chat("a"), chat("b")) as server:
        pooled = HttpClient(server.url, connect_timeout_s=5.0)

        def post() -> None:
            call = HttpCall(5.0)
            response = pooled.request(call, "POST", "/chat/completions", b"{}")
            call.reuse_connection = True
            list(chunks(response))

        def fail() -> None:
            with pytest.raises(HTTPError):
                post()

        failing = threading.Thread(target=fail)
        failing.start()
        assert received.wait(5)
        post()
        proceed.set()
        failing.join(5)
        post()
    failed, first, second = (request.connection for request in server.posts)
    assert failed != first == second
