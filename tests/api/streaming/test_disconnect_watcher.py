"""A client's disconnect is noticed, streaming or not, and cancels its generation."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import orjson
import pytest

from api.services import AppServices
from api.streaming.disconnect_watcher import DisconnectWatcher
from streams.events import TextDelta
from tests.api.conftest import KEY
from tests.support.api_fakes import Fakes
from tests.support.waiting import wait_until

SOON_S = 1.0

eventually = partial(wait_until, seconds=5)


@contextmanager
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection: the server's and the client's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    with server, client:
        yield server, client


def ask(port: int, **body: object) -> socket.socket:
    """Send a request and read nothing."""
    data = orjson.dumps({"model": "demo", "input": "x", **body})
    head = (
        f"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(head.encode() + data)
    return client


@pytest.mark.parametrize("stream", [False, True])
def test_a_disconnect_cancels_the_generation(
    port: int, services: AppServices, fakes: Fakes, stream: bool
) -> None:
    ledger = fakes.ledger
    ledger.script = [TextDelta("a")]
    client = ask(port, stream=stream)
    eventually(services.disconnects.watched)
    if stream:
        client.recv(100)
    client.close()
    assert eventually(lambda: ledger.cancelled) < SOON_S
    assert ledger.cancelled == [ledger.only().id]
    eventually(lambda: not services.disconnects.watched() and not fakes.subscriber.open_responses())


def test_a_reset_connection_is_noticed_too(port: int, services: AppServices, fakes: Fakes) -> None:
    fakes.ledger.script = []
    client = ask(port)
    eventually(services.disconnects.watched)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()
    assert eventually(lambda: fakes.ledger.cancelled) < SOON_S


def test_a_background_stream_continues_without_its_client(
    port: int, services: AppServices, fakes: Fakes
) -> None:
    fakes.ledger.script = []
    client = ask(port, stream=True, background=True)
    eventually(services.disconnects.watched)
    client.close()
    eventually(lambda: not services.disconnects.watched())
    assert fakes.ledger.cancelled == []


def test_a_disconnect_of_a_second_reader_does_not_cancel(
    port: int, services: AppServices, fakes: Fakes
) -> None:
    ledger = fakes.ledger
    ledger.script = [TextDelta("a")]
    first = ask(port, stream=True)
    eventually(lambda: ledger.jobs and services.disconnects.watched() == 1)
    reader = socket.create_connection(("127.0.0.1", port))
    path = f"/v1/responses/{ledger.only().id}?stream=true"
    reader.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode())
    eventually(lambda: services.disconnects.watched() == 2)
    reader.close()
    eventually(lambda: services.disconnects.watched() == 1)
    assert ledger.cancelled == []
    first.close()
    eventually(lambda: ledger.cancelled)


def test_a_cancel_that_fails_does_not_affect_other_clients(
    port: int, services: AppServices, fakes: Fakes
) -> None:
    ledger = fakes.ledger
    ledger.script = []

    def refuse() -> None:
        ledger.cancelled.append("attempt")
        raise ConnectionError("Redis is unreachable")

    ledger.on_cancel = refuse
    for tries in (1, 2):
        client = ask(port)
        eventually(services.disconnects.watched)
        client.close()
        assert eventually(lambda: len(ledger.cancelled) == tries) < SOON_S  # noqa: B023 - called at once
        eventually(lambda: not services.disconnects.watched())


def test_data_from_a_waiting_client_is_no_disconnect() -> None:
    disconnects, gone = DisconnectWatcher(), threading.Event()
    with pair() as (server, client):
        watch = disconnects.watch(server, gone.set)
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert not gone.wait(0.1)
        client.shutdown(socket.SHUT_WR)
        assert gone.wait(SOON_S)
        disconnects.forget(watch)
    assert disconnects.watched() == 0


def test_a_watch_that_was_ended_is_not_called() -> None:
    disconnects, gone = DisconnectWatcher(), threading.Event()
    with pair() as (server, client):
        watch = disconnects.watch(server, gone.set)
        disconnects.forget(watch)
        disconnects.forget(watch)
        client.close()
        assert not gone.wait(0.1)


def test_a_reused_file_descriptor_is_another_connection() -> None:
    disconnects, first_gone, second_gone = DisconnectWatcher(), threading.Event(), threading.Event()
    with pair() as (server, client), pair() as (other, _):
        number = server.fileno()
        first = disconnects.watch(server, first_gone.set)
        os.dup2(other.fileno(), number)  # closes the first and takes its number
        second = disconnects.watch(server, second_gone.set)
        disconnects.forget(first)  # late; it must not end the second watch
        client.close()
        assert not second_gone.wait(0.1)
        assert disconnects.watched() == 1
        disconnects.forget(second)
    assert not first_gone.is_set()


def test_a_stale_report_of_an_earlier_connection_is_ignored() -> None:
    disconnects, gone = DisconnectWatcher(), threading.Event()
    with pair() as (server, client):
        watch = disconnects.watch(server, gone.set)
        disconnects._report(disconnects._started_epoll(), server.fileno())  # stale
        assert not gone.is_set()
        client.close()
        assert gone.wait(SOON_S)
        disconnects.forget(watch)


def test_no_watch_is_made_without_an_open_socket() -> None:
    disconnects = DisconnectWatcher()
    assert disconnects.watch(None, lambda: None) is None
    closed = socket.socket()
    closed.close()
    assert disconnects.watch(closed, lambda: None) is None
    disconnects.forget(None)
