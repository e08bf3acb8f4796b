"""Cancelling a request to a remote server in each of its phases."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from http_client.connector import Connector
from tests.backends.conftest import Answer, Launched, Start, ask
from tests.backends.openai_remote.calls import redirect
from tests.backends.openai_remote.scripted_server import (
    AUTHORITY,
    Handler,
    chat,
    chunk,
    events,
    no_answer,
    remote_model,
    scripted_server,
    status,
)
from tests.support.generations import RecordingSink, on_loop
from tests.support.waiting import scaled

CANCEL_S = scaled(1.0)


@pytest.fixture
def unresponsive() -> Iterator[socket.socket]:
    """A listener that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(scaled(5))
        yield listener


def ends(connection: socket.socket) -> bool:
    """Whether the other end closes a connection within a second (scaled)."""
    connection.settimeout(CANCEL_S)
    with suppress(ConnectionResetError):
        while connection.recv(1 << 16):
            pass
    return True


def cancelled(launched: Launched, ready: threading.Event | None = None) -> Answer:
    """Cancel a request once `ready` is set (None: after its first delta); it must end within `CANCEL_S`."""
    answer, thread = launched.begin(ask("one two three four five six seven eight"))
    assert (ready or answer.first_delta).wait(scaled(5))
    launched.cancel("only")
    thread.join(CANCEL_S)
    assert answer.error is None
    assert answer.finish is not None
    assert answer.finish.reason == "cancelled"
    assert answer.finish.usage.input_tokens > 0
    return answer


def test_a_request_can_be_cancelled_while_it_connects(
    start: Start, unresponsive: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    connecting = threading.Event()
    connect = Connector.connect

    async def report(*arguments: Any) -> Any:
        connecting.set()
        return await connect(*arguments)

    with scripted_server() as server:
        launched = start(remote_model(server.url))
        redirect(launched, unresponsive.getsockname()[1])
        monkeypatch.setattr(Connector, "connect", report)
        answer, thread = launched.begin(ask("Hi"))
        assert connecting.wait(scaled(5))
        connection, _ = unresponsive.accept()  # so that the TLS handshake waits
        launched.cancel("only")
        thread.join(CANCEL_S)
        assert answer.finish is not None
        assert answer.finish.reason == "cancelled"
        with connection:
            assert ends(connection)


def test_a_request_can_be_cancelled_during_a_retry_pause(start: Start) -> None:
    received = threading.Event()

    def busy(handler: Handler) -> None:
        status(503, Retry_After="20")(handler)
        received.set()

    with scripted_server(busy) as server:
        cancelled(start(remote_model(server.url)), received)
        assert len(server.posts) == 1


def test_a_request_can_be_cancelled_before_the_first_byte(start: Start) -> None:
    with scripted_server(no_answer) as server:
        cancelled(start(remote_model(server.url)), server.waiting)
        assert server.client_disconnected.wait(CANCEL_S)


def test_a_request_can_be_cancelled_while_it_is_answered(start: Start) -> None:
    with scripted_server(events(chunk({"content": "a"}), then=Handler.wait_for_disconnect)) as server:
        answer = cancelled(start(remote_model(server.url)))
        assert answer.text == "a"
        assert answer.finish is not None
        assert answer.finish.usage.output_tokens == 1
        assert server.client_disconnected.wait(CANCEL_S)


def test_a_request_can_be_cancelled_over_tls(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    unfinished = events(chunk({"content": "a"}), then=Handler.wait_for_disconnect)
    with scripted_server(unfinished, secure=True) as server:
        cancelled(start(remote_model(server.url)), server.waiting)


def test_a_request_cancelled_before_it_connects_is_not_sent(start: Start) -> None:
    with scripted_server() as server:
        engine = start(remote_model(server.url)).engine
        sink = RecordingSink(lambda _delta: None)

        def submit_and_cancel() -> None:
            engine.submit("only", ask("Hi"), sink)
            engine.cancel("only")

        on_loop(submit_and_cancel)
        assert sink.result().reason == "cancelled"
        assert server.posts == []


def test_cancelling_an_unknown_or_finished_request_does_nothing(start: Start) -> None:
    with scripted_server(chat("a"), chat("b")) as server:
        launched = start(remote_model(server.url))
        launched.cancel("unknown")
        launched.answer(ask("Hi"), id="done")
        launched.cancel("done")
        assert launched.answer(ask("Hi")).text == "b"
