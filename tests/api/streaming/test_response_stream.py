"""A response stream: events that bypass the client's thread, keep-alives, and the stream's end."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from gunicorn import util

from api.dialects import responses
from api.dialects.base import ResponseMetadata
from api.streaming import sse
from api.streaming.chunked_writer import ChunkedWriter
from api.streaming.response_stream import ClientDisconnected, ResponseStream
from config.settings import ApiSettings, Settings
from streams.events import End, Event, TextDelta
from streams.subscriber import SILENCE_S
from tests.support.api_fakes import FakeStore, FakeSubscriber, encode
from tests.support.waiting import wait_until

SOON_S = 5.0


class SimulatedClient:
    """A client of one response at the other end of a connection. The test plays worker and subscriber."""

    def __init__(self, *, keep_alive_s: float = 15.0, after: int = -1) -> None:
        self.store = FakeStore()
        self.store.logs["r1"] = []
        self.subscriber = FakeSubscriber(self.store)
        self.cursor = self.subscriber.subscribe("r1")
        self.abandoned = threading.Event()
        settings = replace(Settings(), api=ApiSettings(keep_alive_s=keep_alive_s))
        self.response_stream = ResponseStream(self.cursor, settings, on_abandon=self.abandoned.set)
        self.server_end, self.client_end = socket.socketpair()
        self.client_end.settimeout(SOON_S)
        self.received = b""
        self._after = after
        self.thread = threading.Thread(target=self._answer)

    def _answer(self) -> None:
        """Answer as gunicorn does, in the request's thread."""
        renderer = responses.stream_renderer(ResponseMetadata("resp_1", 1, "m", {}))
        for chunk in self.response_stream.stream(
            renderer, self._after, ChunkedWriter(self.server_end, chunked=True)
        ):
            util.write_chunk(self.server_end, chunk)
        with suppress(OSError):
            util.write_chunk(self.server_end, b"")
        self.server_end.close()

    def append(self, event: Event, *, lost: bool = False) -> None:
        log = self.store.logs["r1"]
        log.append(encode(event))
        if not lost:
            self.subscriber._deliver(b"r1 %d %s" % (len(log), log[-1]))

    def read_until(self, text: bytes) -> None:
        while text not in self.received:
            more = self.client_end.recv(65536)
            assert more, self.received
            self.received += more

    def read_all(self) -> bytes:
        while more := self.client_end.recv(65536):
            self.received += more
        return self.received


@pytest.fixture
def client() -> Iterator[SimulatedClient]:
    yield from _client()


@pytest.fixture
def ahead_client() -> Iterator[SimulatedClient]:
    """A client whose `starting_after` is beyond all events, with a keep-alive every 50 ms."""
    yield from _client(keep_alive_s=0.05, after=10**6)


def _client(**named: float) -> Iterator[SimulatedClient]:
    client = SimulatedClient(**named)  # type: ignore[arg-type]
    client.thread.start()
    client.read_until(b"\n" if named else b"response.in_progress")
    yield client
    client.client_end.close()
    client.response_stream._disconnect()
    client.thread.join(SOON_S)
    assert not client.thread.is_alive()


def test_an_event_reaches_the_client_while_its_thread_sleeps(client: SimulatedClient) -> None:
    wait_until(lambda: client.cursor._accept)
    for word in ("Hel", "lo."):
        client.append(TextDelta(word))
        client.read_until(f'"delta":"{word}"'.encode())
        assert client.cursor._accept is not None, "the client's thread was woken"
    client.append(End("completed", "stop"))
    assert client.read_all().endswith(sse.DONE + b"\r\n0\r\n\r\n")
    assert not client.abandoned.is_set()


def test_a_client_whose_events_are_all_skipped_gets_keep_alives(ahead_client: SimulatedClient) -> None:
    client = ahead_client
    until = time.monotonic() + SOON_S
    comments = 0
    while comments < 3 and time.monotonic() < until:  # events come all the time, and all are skipped
        client.append(TextDelta("x"))
        client.client_end.settimeout(0.01)
        try:
            client.received += client.client_end.recv(65536)
        except TimeoutError:
            continue
        finally:
            comments = client.received.count(sse.KEEP_ALIVE)
    assert comments >= 3
    assert b"delta" not in client.received


def test_a_disconnect_while_a_burst_is_collected_is_not_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = SimulatedClient()
    for word in ("a", "b"):
        client.append(TextDelta(word))
    take = client.cursor._advance

    def disconnect_at_the_second(number: int, event: Event) -> Event:
        if number == 2:
            client.response_stream._disconnect()  # the burst consumes its wake-up
        return take(number, event)

    monkeypatch.setattr(client.cursor, "_advance", disconnect_at_the_second)
    began = time.monotonic()
    with pytest.raises(ClientDisconnected):
        client.response_stream.collect()
    assert time.monotonic() - began < SILENCE_S / 2
    client.response_stream.close()
    assert client.abandoned.is_set()


def test_a_client_that_is_gone_ends_the_stream_quietly(client: SimulatedClient) -> None:
    wait_until(lambda: client.cursor._accept)
    client.client_end.close()
    client.append(TextDelta("x"))
    assert client.abandoned.wait(SOON_S)


def test_an_event_that_cannot_be_decoded_ends_its_own_stream_only(
    client: SimulatedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", caught.append)
    wait_until(lambda: client.cursor._accept)
    client.store.logs["r1"].append(b'{"t":"unknown"}')
    client.subscriber._deliver(b'r1 1 {"t":"unknown"}')
    client.thread.join(SOON_S)
    assert not client.thread.is_alive()
    assert len(caught) == 1
    assert client.abandoned.is_set()
