"""The limits of the server: what a client may hold, and for how long."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import pytest

from api.http.server.limits import MAX_TARGET_BYTES, RESERVED_FILES, Limits, limits_of
from config.settings import ApiSettings, Settings, TenancySettings
from tests.api.conftest import KEY
from tests.api.http.server.conftest import THREADS, RunningServer, Serve, running
from tests.support.raw_http import Answer, RawClient, chunked, request
from tests.support.waiting import scaled, wait_until

HEAD = b"POST /echo HTTP/1.1\r\nHost: x\r\nx-api-key: %b\r\n" % KEY.encode()
OFTEN_SWEPT = {"rate_grace_s": 0.1}
"""For tests without a body: a sweep every 25 ms, and no short limit."""
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def refusal(client: RawClient) -> tuple[int, str]:
    """The status and the code of the error that ends the connection."""
    answer: Answer = client.answer()
    assert answer.headers["connection"] == "close"
    assert answer.headers["x-request-id"] == answer.headers["request-id"]
    client.wait_for_end(5)
    return answer.status, answer.error()["code"]


def test_a_connection_without_a_request_is_closed_without_an_answer(serve: Serve) -> None:
    with serve(head_timeout_s=0.1).client() as client:
        client.wait_for_end(2)
        assert client.unread == b""


def test_a_head_has_to_arrive_in_time_however_its_bytes_are_spread(serve: Serve) -> None:
    server = serve(head_timeout_s=100)
    with server.client() as client:
        wait_until(lambda: len(server.connections) == 1)
        (connection,) = server.connections._all
        deadline = connection.deadline
        for count, byte in enumerate((b"G", b"E", b"T"), 1):
            client.send(byte)
            wait_until(lambda count=count: connection.unanswered == count)
            assert connection.deadline == deadline <= server.loop.time() + 100
        server.call(server.connections.sweep, deadline)
        assert refusal(client) == (408, "request_timeout")


def test_the_head_of_a_later_request_has_its_own_time(serve: Serve) -> None:
    server = serve(head_timeout_s=100, idle_timeout_s=10_000)
    with server.client() as client:
        client.send(request("GET", "/echo"))
        assert client.answer().status == 200
        (connection,) = server.connections._all
        wait_until(lambda: 100 < connection.deadline - server.loop.time() < math.inf)  # it is idle
        began = server.loop.time()
        client.send(b"GET /echo HTTP/1.1\r\n")
        wait_until(lambda: connection.deadline < began + 10_000 - 100)
        assert began + 100 <= connection.deadline <= server.loop.time() + 100
        client.send(b"Host: x\r\n\r\n")
        assert client.answer().status == 200
        client.send(b"GET")
        wait_until(lambda: connection.deadline < began + 10_000 - 100)
        server.call(lambda: server.connections.sweep(connection.deadline))
        assert refusal(client) == (408, "request_timeout")


def test_an_idle_connection_is_closed(serve: Serve) -> None:
    with serve(idle_timeout_s=0.1, **OFTEN_SWEPT).client() as client:
        client.send(request("GET", "/echo"))
        assert client.answer().status == 200
        client.wait_for_end(2)
        assert client.unread == b""


def test_a_body_has_to_arrive_in_time(serve: Serve) -> None:
    server = serve(body_timeout_s=0.3, min_body_rate=0)
    with server.client() as client:
        client.send(HEAD + b"Content-Length: 100\r\n\r\n" + b"x" * 99)
        assert refusal(client) == (408, "request_timeout")
    wait_until(lambda: server.connections.body_bytes == 0)


def test_a_body_has_to_arrive_at_a_minimum_rate(serve: Serve) -> None:
    server = serve(rate_grace_s=0.2, min_body_rate=10_000)
    with server.client() as slow, server.client() as fast:
        slow.send(HEAD + b"Content-Length: 100000\r\n\r\n" + b"x" * 1000)
        fast.send(HEAD + b"Content-Length: 100000\r\n\r\n" + b"x" * 99_999)
        assert refusal(slow) == (408, "request_timeout")
        fast.send(b"x")
        assert fast.answer().json()["length"] == 100_000


@pytest.mark.parametrize(
    "data",
    [
        b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 30_000,
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"x: y\r\n" * 101,
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 5000 + b"\r\n\r\n",
    ],
    ids=["target", "unfinished", "fields", "finished"],
)
def test_a_head_has_a_largest_size(serve: Serve, data: bytes) -> None:
    with serve(max_head_bytes=2048).client() as client:
        client.send(data)
        if data.startswith(b"GET /xxx"):
            client.send(b"Host: " + b"x" * 4096)
        assert refusal(client) == (431, "head_too_large")


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"GARBAGE\r\n\r\n", 400, "invalid_request"),
        (b"FETCH / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "invalid_request"),
        (HEAD + b"Content-Length: 2000\r\n\r\n", 413, "request_too_large"),
        (b"GET /" + b"x" * MAX_TARGET_BYTES + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "target_too_long"),
        (b"GET /" + b"x" * MAX_TARGET_BYTES, 414, "target_too_long"),
        (request("GET", "/", X_Long="x" * 65_536), 431, "head_too_large"),
        (HEAD + b"Content-Length: 900\r\n\r\n", 503, "server_busy"),
    ],
)
def test_an_error_of_the_server_has_the_envelope_of_the_api(
    serve: Serve, data: bytes, status: int, code: str
) -> None:
    server = serve(max_body_bytes=1000, max_pending_body_bytes=800)
    with server.client() as client:
        client.send(data)
        answer = client.answer()
    check_envelope(answer, status, code)


def test_the_refusal_of_a_head_that_is_late_has_the_envelope_of_the_api(serve: Serve) -> None:
    with serve(head_timeout_s=scaled(0.5)).client() as client:
        client.send(b"GET /")
        check_envelope(client.answer(), 408, "request_timeout")


def check_envelope(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.error()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"Content-Length: 1001\r\n\r\n",
        HEAD + b"Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n",
        CHUNKED + chunked(b"x" * 600, b"x" * 600),
        CHUNKED + b"3e9\r\n" + b"x" * 1001,
    ],
)
def test_a_body_over_its_limit_is_refused(serve: Serve, data: bytes) -> None:
    with serve(max_body_bytes=1000).client() as client:
        client.send(data)
        assert refusal(client) == (413, "request_too_large")


def test_chunks_that_are_mostly_headers_are_refused(serve: Serve) -> None:
    with serve(max_head_bytes=2048).client() as client:
        client.send(CHUNKED + b"1;" + b"x" * 10_000 + b"\r\nx\r\n")
        assert refusal(client) == (400, "invalid_request")


@pytest.mark.parametrize(("key", "code"), [("", "invalid_api_key"), ("sk-wrong", "invalid_api_key")])
def test_the_key_is_checked_before_a_large_body_is_read(server: RunningServer, key: str, code: str) -> None:
    head = request("POST", "/echo", Content_Length=None, x_api_key=key)
    for body in (
        b"Content-Length: 65537\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"x" * 65_537),
    ):
        with server.client() as client:
            client.send(head[:-2] + body)
            assert refusal(client) == (401, code)
    assert server.exchange(request("POST", "/echo", b"x" * 65_536)).status == 200
    assert server.exchange(request("POST", "/echo", b"x" * 65_537, x_api_key=KEY)).status == 200


def test_a_large_body_of_a_trusted_proxy_needs_no_key(settings: Settings) -> None:
    data = request("POST", "/echo", b"x" * 65_537, x_api_key=None)
    for proxy, status in (("127.0.0.1", 200), ("127.0.0.2", 401)):
        trusting = replace(settings, tenancy=TenancySettings(trusted_proxies=(proxy,)))
        with running(trusting, Limits()) as server:
            assert server.exchange(data).status == status


def test_all_unread_bodies_together_have_a_limit(serve: Serve) -> None:
    server = serve(max_pending_body_bytes=100_000)
    with server.client() as first, server.client() as second:
        first.send(HEAD + b"Content-Length: 60000\r\n\r\n" + b"x" * 59_999)
        wait_until(lambda: server.connections.body_bytes == 59_999)
        second.send(HEAD + b"Content-Length: 60000\r\n\r\n")
        assert refusal(second) == (503, "server_busy")
        first.send(b"x")
        assert first.answer().status == 200
    assert server.connections.body_bytes == 0
    assert server.exchange(HEAD + b"Content-Length: 60000\r\n\r\n" + b"x" * 60_000).status == 200


def test_requests_beyond_the_threads_wait_and_beyond_these_are_refused(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = [server.client() for _ in range(THREADS + 2)]
    application = clients_application(server)
    monkeypatch.setattr(application, "_max_in_threads", THREADS + 1)
    for client in clients[:-1]:
        client.send(request("GET", "/block"))
    wait_until(lambda: application._in_threads == THREADS + 1)
    clients[-1].send(request("GET", "/block"))
    answer = clients[-1].answer()
    assert (answer.status, answer.error()["code"], answer.headers["retry-after"]) == (503, "server_busy", "2")
    assert server.get("/echo_inline").status == 200
    server.unblock.set()
    assert [client.answer().body for client in clients[:-1]] == [b"unblocked"] * (THREADS + 1)
    for client in clients:
        client.close()


def clients_application(server: RunningServer):
    wait_until(lambda: len(server.connections) > 0)
    return next(iter(server.connections._all)).app


@pytest.mark.parametrize("stage", ["none", "plain", "streamed"])
def test_a_client_that_does_not_read_is_disconnected(serve: Serve, stage: str) -> None:
    server = serve(write_timeout_s=0.3)
    with server.client(receive_buffer=4096) as client:
        if stage == "plain":
            client.send(request("GET", "/whole?size=8000000") * 3)
        else:
            client.send(request("GET", "/detach"))
            stream = server.served.result(scaled(5))
            server.call(stream.begin, 200, {})
            if stage == "streamed":
                server.call(stream.write, b"x" * 8_000_000)
        if stage == "none":  # nothing waits to be sent
            time.sleep(0.6)
            assert not server.disconnected.is_set()
        else:
            wait_until(lambda: len(server.connections) == 0, 3)


def test_all_unsent_bytes_together_have_a_limit(serve: Serve) -> None:
    server = serve(max_unsent_bytes=16_000_000)
    with ExitStack() as stack:
        small, *large = [stack.enter_context(server.client(receive_buffer=4096)) for _ in range(4)]
        small.send(request("GET", "/whole?size=2000000"))
        for client in large:
            client.send(request("GET", "/whole?size=8000000"))
        wait_until(lambda: len(server.connections) == 2)
        assert len(small.answer().body) == 2_000_000


def test_a_client_that_reads_slowly_stays_connected(serve: Serve) -> None:
    """It reads each time shortly before its time is over, by the times of the sweeps."""
    server = serve(write_timeout_s=100)
    assert server.connections._timer is not None
    server.call(server.connections._timer.cancel)  # the test makes the sweeps, at times that it chooses
    with server.client(receive_buffer=4096) as client:
        client.send(request("GET", "/whole?size=8000000"))
        wait_until(lambda: len(server.connections) == 1)
        (connection,) = server.connections._all
        wait_until(lambda: connection.unsent > 0)
        now = 0.0
        for _ in range(5):
            unsent = connection.unsent
            server.call(server.connections.sweep, now)
            server.call(server.connections.sweep, now + 99)
            assert len(server.connections) == 1
            wait_until(lambda unsent=unsent: client.receive() and connection.unsent < unsent)
            now += 200

        def is_closed_when_it_reads_no_more() -> bool:
            nonlocal now
            now += 100
            server.call(server.connections.sweep, now)
            return len(server.connections) == 0

        wait_until(is_closed_when_it_reads_no_more)


def test_at_the_limit_the_oldest_connection_without_a_request_is_closed(serve: Serve) -> None:
    server = serve(max_connections=3, max_connections_per_address=3, max_unread_s=0)
    with server.client() as busy, server.client() as older, server.client() as newer:
        for client in (busy, older, newer):
            client.send(request("GET", "/echo"))
            assert client.answer().status == 200
        busy.send(request("GET", "/detach"))
        server.served.result(scaled(5))
        assert server.get("/echo").status == 200
        older.wait_for_end(1)
        newer.send(request("GET", "/echo"))
        assert newer.answer().status == 200


def test_a_connection_is_refused_if_all_others_have_requests(serve: Serve) -> None:
    server = serve(max_connections=1)
    with server.client() as busy:
        busy.send(request("GET", "/block"))
        assert server.blocked.acquire(timeout=scaled(5))
        with server.client() as refused:
            refused.wait_for_end(1)
        server.unblock.set()
        assert busy.answer().status == 200


def test_an_address_has_a_limit_that_leaves_room_for_others(serve: Serve) -> None:
    server = serve(max_connections=10, max_connections_per_address=2, max_unread_s=0)
    clients = [server.client(source="127.0.0.2") for _ in range(5)]
    wait_until(lambda: len(server.connections) == 2)
    with server.client() as other:
        other.send(request("GET", "/echo"))
        assert other.answer().status == 200
        clients[-1].send(request("GET", "/echo"))
        assert clients[-1].answer().status == 200
    for client in clients:
        client.close()


def test_refusals_are_logged_in_one_line(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    server = serve(**OFTEN_SWEPT)
    for _ in range(20):
        with server.client() as client:
            client.send(b"no request\r\n\r\n")
            assert refusal(client) == (400, "invalid_request")

    def lines() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "api"]

    wait_until(lines)
    time.sleep(0.1)
    assert len(lines()) == 1
    assert lines()[0].startswith("refused by the server: invalid_request ")


FileLimit = Callable[[int], None]


@pytest.fixture
def set_file_limit(monkeypatch: pytest.MonkeyPatch) -> FileLimit:
    def set_file_limit(hard: int) -> None:
        monkeypatch.setattr(resource, "getrlimit", lambda _which: (hard // 2, hard))
        monkeypatch.setattr(resource, "setrlimit", lambda _which, limits: raised.append(limits))

    raised: list[tuple[int, int]] = []
    return set_file_limit


def test_the_connections_fit_the_limit_of_open_files(
    set_file_limit: FileLimit, caplog: pytest.LogCaptureFixture
) -> None:
    set_file_limit(1_000_000)
    limits = limits_of(ApiSettings(max_connections=1000))
    assert (limits.max_connections, limits.max_connections_per_address) == (1000, 750)
    assert caplog.text == ""
    set_file_limit(4096)
    limits = limits_of(ApiSettings(max_connections=10_000, max_connections_per_address=9000))
    assert limits.max_connections == limits.max_connections_per_address == 4096 - RESERVED_FILES
    assert "the process may open only 4096 files: it accepts 3840 connections" in caplog.text
