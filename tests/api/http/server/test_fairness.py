"""What one client, or many without a key, may take from the others."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise

import pytest

from api.access.session_store import SessionStore, UsedSession
from api.http.errors import InvalidApiKey
from api.http.server.limits import MAX_ANSWERS_IN_TURN
from api.http.server.request import MAX_CACHED_NAME_BYTES, _cached_key
from config.api_keys import digest_of
from tests.api.conftest import KEY
from tests.api.http.server.conftest import RunningServer, Serve
from tests.support.raw_http import request
from tests.support.waiting import scaled, wait_until

PIPELINED = 2000
SENDERS = 4
LARGE_BODY = 7_000_000
READ_BYTES = 256_000
"""uvloop's buffer for a read."""


def test_a_client_with_many_pipelined_requests_does_not_hold_up_the_loop(server: RunningServer) -> None:
    """Between two iterations of the loop at most `MAX_ANSWERS_IN_TURN` requests are begun."""
    answered: list[int] = []

    async def watch() -> None:
        while True:
            connections = list(server.connections._all)
            answered.append(connections[0]._written if connections else 0)
            await asyncio.sleep(0)

    with server.client() as client:
        client.send(request("GET", "/whole?size=1"))
        client.answer()
        watching = asyncio.run_coroutine_threadsafe(watch(), server.loop)
        wait_until(lambda: answered)
        one = answered[-1]
        client.send(request("GET", "/whole?size=1") * PIPELINED)
        for _ in range(PIPELINED):
            assert client.answer().status == 200
        watching.cancel()
    steps = [after - earlier for earlier, after in pairwise(answered)]
    assert max(steps) <= MAX_ANSWERS_IN_TURN * one


def test_large_bodies_do_not_hold_up_the_loop(server: RunningServer) -> None:
    """Between two iterations of the loop, only few reads of the connections that send much are made."""
    received: list[int] = []

    async def watch() -> None:
        while True:
            received.append(server.connections.body_bytes)
            await asyncio.sleep(0)

    with ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(SENDERS)]
        watching = asyncio.run_coroutine_threadsafe(watch(), server.loop)
        with ThreadPoolExecutor(SENDERS) as pool:
            head = request("POST", "/echo", Content_Length=str(LARGE_BODY + 1), x_api_key=KEY)
            list(pool.map(lambda client: client.send(head + b"x" * LARGE_BODY), clients))
        wait_until(lambda: server.connections.body_bytes == SENDERS * LARGE_BODY)
        watching.cancel()
    steps = [after - earlier for earlier, after in pairwise(received)]
    assert max(steps) <= SENDERS * READ_BYTES


def test_pipelined_requests_are_all_answered_when_the_client_has_closed_its_side(
    server: RunningServer,
) -> None:
    requests = request("GET", "/echo_inline") * PIPELINED + request("GET", "/echo", Connection="close")
    with server.client() as client:
        client.send(requests)
        client.socket.shutdown(1)
        for _ in range(PIPELINED + 1):
            assert client.answer().status == 200
        client.wait_for_end(1)


def test_a_body_behind_pipelined_requests_is_awaited(server: RunningServer) -> None:
    with server.client() as client:
        many = MAX_ANSWERS_IN_TURN * 3
        client.send(request("GET", "/whole?size=1") * many)
        client.send(request("POST", "/echo", Content_Length="3", Expect="100-continue"))
        for _ in range(many):
            assert client.answer().status == 200
        assert client.answer().status == 100
        client.send(b"abc")
        assert client.answer().json()["length"] == 3


def test_bodies_without_a_key_leave_room_for_those_with_one(serve: Serve) -> None:
    server = serve(max_pending_body_bytes=239_992)
    head = request("POST", "/echo", Content_Length="60000")
    with ExitStack() as stack:
        keyless = [stack.enter_context(server.client()) for _ in range(3)]
        for number, client in enumerate(keyless[:2], 1):
            client.send(head + b"x" * 59_999)
            wait_until(lambda number=number: server.connections.body_bytes == number * 59_999)
        keyless[2].send(head)
        assert keyless[2].answer().status == 401
        body = request("POST", "/echo", b"x" * 60_000, x_api_key=KEY)
        assert server.exchange(body).status == 200
        keyless[0].send(b"x")
        assert keyless[0].answer().status == 401


def test_a_large_body_of_a_session_is_received_if_the_session_lives(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(_: SessionStore, token: str, *, renews: bool) -> tuple[str, UsedSession]:
        assert not renews  # the request itself counts as the use
        if token != "alive":
            raise InvalidApiKey("this session has ended: sign in again", code="session_ended")
        return "", UsedSession(digest_of(KEY), False)

    monkeypatch.setattr(SessionStore, "use", use)
    server = serve()
    for expect in (None, "100-continue"):
        with server.client() as client:
            head = {"Cookie": "a=b; stoker_session=alive", "Content_Length": "200000", "Expect": expect}
            client.send(request("POST", "/echo", **head))
            if expect:
                assert client.answer().status == 100
            client.send(b"x" * 200_000)
            assert client.answer().json()["length"] == 200_000
    body = request("POST", "/echo", b"x" * 200_000, Cookie="stoker_session=dead")
    answer = server.exchange(body)
    assert (answer.status, answer.error()["code"]) == (401, "session_ended")


def test_incomplete_heads_together_have_a_limit(serve: Serve) -> None:
    server = serve(max_unanswered_bytes=100_000)
    with ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(5)]
        clients[0].send(b"GET /echo HTTP/1.1\r\nHost: x\r\n")
        for client in clients[1:]:
            client.send(b"GET /echo HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 40_000)
        wait_until(lambda: len(server.connections) == 3)
        clients[0].send(b"\r\n")
        assert clients[0].answer().status == 200


def test_heads_of_incomplete_bodies_and_requests_read_ahead_have_the_same_limit(serve: Serve) -> None:
    server = serve(max_unanswered_bytes=100_000)
    with server.client() as first, server.client() as second, server.client() as ahead:
        for client in (first, second):
            client.send(request("POST", "/echo", Content_Length="2", X_Long="x" * 60_000) + b"x")
        wait_until(lambda: len(server.connections) == 2)
        ahead.send(request("GET", "/detach"))
        server.served.result(scaled(5))
        ahead.send(b"GET /" + b"x" * 200_000)
        wait_until(server.disconnected.is_set)
    wait_until(lambda: len(server.connections) == 0)


def test_long_names_of_header_fields_are_not_kept(server: RunningServer) -> None:
    before = _cached_key.cache_info().misses
    for number in range(3):
        name = f"X-{'n' * MAX_CACHED_NAME_BYTES}-{number}"
        facts = server.exchange(request("GET", "/echo", **{name: "1"})).json()
        assert facts["HTTP_" + name.upper().replace("-", "_")] == "1"
    assert _cached_key.cache_info().misses - before <= 1  # `Host`
