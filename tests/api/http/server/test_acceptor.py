"""Connections are accepted faster than requests are handled, and no more of them than there is room for."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import time
from pathlib import Path

import pytest

from api.http.server.acceptor import ACCEPTS_IN_TURN
from tests.api.http.server.conftest import Serve
from tests.support.raw_http import request
from tests.support.waiting import scaled, wait_until

CROWD = 3 * ACCEPTS_IN_TURN


def test_a_crowd_is_accepted_in_few_iterations_of_the_loop(serve: Serve) -> None:
    server = serve()
    iterations = 0

    def count() -> None:
        nonlocal iterations
        if len(server.connections) < CROWD:
            iterations += 1
            server.loop.call_soon(count)

    with contextlib.ExitStack() as stack:

        def join() -> None:  # on the event loop, which accepts none of them before it returns
            for _ in range(CROWD):
                client = stack.enter_context(socket.socket())
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    client.connect(server.address)
            count()

        server.call(join)
        wait_until(lambda: len(server.connections) == CROWD, 5)
    assert iterations <= CROWD / ACCEPTS_IN_TURN + 6


def test_a_young_connection_is_not_closed_for_a_new_one(serve: Serve) -> None:
    server = serve(max_connections=1, max_unread_s=60)
    with server.client() as first:
        wait_until(lambda: len(server.connections) == 1)
        with server.client() as second:
            second.wait_for_end(1)
        first.send(request("GET", "/echo"))
        assert first.answer().status == 200


def test_connections_wait_while_the_process_can_open_no_file(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve()
    client = socket.socket()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(file.name) for file in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, hard))
    fillers = []
    try:
        with contextlib.suppress(OSError):
            while True:
                fillers.append(os.open(os.devnull, os.O_RDONLY))
        client.connect(server.address)
        client.sendall(request("GET", "/echo"))
        deadline = time.monotonic() + scaled(5)
        while "no connection can be accepted" not in caplog.text:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        for filler in fillers:
            os.close(filler)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    client.settimeout(scaled(5))
    with client:
        assert client.recv(12) == b"HTTP/1.1 200"
