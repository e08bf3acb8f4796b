"""The load generator process: `python -m benchmarks.load_generator`. Specs come on stdin as JSON lines.

The clients are keep-alive sockets in one epoll loop. They send prepared requests and parse as little of the
responses as possible, to leave the CPU to the measured processes. Each spec is answered with lines of JSON:
an empty object when the window opens, a `LoadResult` when it closes, `{"done": true}` after the remaining
responses; or `{"error": text}`.
"""

from __future__ import annotations

import json
import re
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Protocol

from benchmarks.load_messages import TOKENS, LoadResult, LoadSpec, percentile

HOST = "127.0.0.1"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
LAST_CHUNK = b"\r\n0\r\n\r\n"
CHUNK = re.compile(rb"\r\n[0-9a-fA-F]+\r\n")
DELTA = re.compile(rb'"(?:delta|content)": ?"([^"]*)"')
"""The text of an event, of a stream of Responses or of Chat Completions."""

TOKEN = b"tok"
TIMEOUT_S = 5.0
"""The limit of the time without any response, and of the wait for the remaining responses."""


class LoadGeneratorError(Exception):
    """Raised when a response is wrong or missing."""


class KeepAliveClient:
    """One keep-alive connection that sends a request, reads the response, and sends the next request."""

    def __init__(self, request: bytes, port: int, stream: bool, paced: bool) -> None:
        self.request, self.stream, self.paced = request, stream, paced
        self.socket = socket.create_connection((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.waiting = False
        self.sent_at = 0.0
        self.answering = False  # the first bytes of the response have arrived
        self.received = b""  # of a stream: the last, incomplete event only
        self.tokens = 0
        self.arrivals: list[float] = []  # times of a paced stream's tokens
        self._missing = -1  # remaining end of the response; -1 before its head is parsed

    def send_request(self) -> None:
        """Send the request."""
        self.waiting, self.answering, self.received, self._missing = True, False, b"", -1
        self.tokens, self.arrivals = 0, []
        self.sent_at = time.perf_counter()
        if self.socket.send(self.request) != len(self.request):
            raise LoadGeneratorError("a request did not fit into the socket")

    def read(self) -> bool:
        """Read the available bytes. Returns whether the response is complete."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise LoadGeneratorError(f"the server closed the connection after {self.received[:300]!r}")
        if not self.answering and not data.startswith(b"HTTP/1.1 200"):
            raise LoadGeneratorError(f"the response is {data[:600].decode('utf-8', 'replace')}")
        self.answering = True
        ended = self._read_stream(data) if self.stream else self._read_whole(data)
        self.waiting = not ended
        return ended

    def _read_stream(self, data: bytes) -> bool:
        received = self.received + data
        ended = received.endswith(LAST_CHUNK)
        events, _, self.received = (received, b"", b"") if ended else received.rpartition(b"\n\n")
        # a chunk may end within an event, and an event may have several tokens
        found = sum(text.count(TOKEN) for text in DELTA.findall(CHUNK.sub(b"", events)))
        self.tokens += found
        if found and self.paced:
            self.arrivals.extend([time.perf_counter()] * found)
        if ended and self.tokens != TOKENS:
            raise LoadGeneratorError(f"a stream of {self.tokens} tokens that ends with {data[-600:]!r}")
        return ended

    def _read_whole(self, data: bytes) -> bool:
        self.received += data
        if self._missing < 0:
            head = self.received.find(b"\r\n\r\n")
            if head < 0:
                return False
            length = LENGTH.search(self.received, 0, head)
            if length is None:
                raise LoadGeneratorError("a response without a length")
            self._missing = head + 4 + int(length[1])
        return len(self.received) >= self._missing

    def close(self) -> None:
        """Close the connections."""
        self.socket.close()


class Window:
    """The counters of one measurement."""

    def __init__(self) -> None:
        self.opened_at = time.perf_counter()
        self.cpu = time.process_time()
        self.latencies: list[float] = []
        self.tokens = 0
        self.token_delays: list[float] = []

    def count(self, client: KeepAliveClient, period_s: float) -> None:
        """Count a complete response."""
        self.latencies.append(time.perf_counter() - client.sent_at)
        self.count_delays(client, period_s)

    def count_delays(self, client: KeepAliveClient, period_s: float) -> None:
        """Count how late the tokens of a paced stream have arrived so far."""
        if period_s and client.arrivals:
            self.token_delays.extend(token_delays(client.arrivals, period_s))

    def close(self) -> LoadResult:
        """End the measurement."""
        seconds = time.perf_counter() - self.opened_at
        return LoadResult(
            seconds=seconds,
            requests=len(self.latencies),
            tokens=self.tokens,
            latency_p50_ms=_ms(percentile(self.latencies, 0.5)),
            latency_p95_ms=_ms(percentile(self.latencies, 0.95)),
            late_p50_ms=_ms(percentile(self.token_delays, 0.5)),
            late_p95_ms=_ms(percentile(self.token_delays, 0.95)),
            generator_cpu_s=time.process_time() - self.cpu,
        )


def token_delays(arrivals: list[float], period_s: float) -> list[float]:
    """The delay of each token in seconds, relative to the most punctual token of the stream."""
    offsets = [at - index * period_s for index, at in enumerate(arrivals)]
    best = min(offsets)
    return [offset - best for offset in offsets]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def encode_request(spec: LoadSpec) -> bytes:
    """The bytes of the HTTP request."""
    return (
        f"POST {spec.path} HTTP/1.1\r\nHost: {HOST}:{spec.port}\r\nAuthorization: Bearer {spec.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(spec.body)}\r\n\r\n{spec.body}"
    ).encode()


class WindowMeasurement:
    """All clients of one measurement."""

    def __init__(self, spec: LoadSpec) -> None:
        self.spec = spec
        request = encode_request(spec)
        self.clients = [
            KeepAliveClient(request, spec.port, spec.stream, spec.period_s > 0) for _ in range(spec.clients)
        ]
        self.by_fd = {client.socket.fileno(): client for client in self.clients}
        self.epoll = select.epoll()
        for fd in self.by_fd:
            self.epoll.register(fd, select.EPOLLIN)
        self.window = Window()
        self.last_answer_at = time.perf_counter()

    def measure(self) -> Iterator[LoadResult | None]:
        """Yields None when the window opens and the result when it closes."""
        self._ramp()
        self.window = Window()
        yield None
        self._until(self.window.opened_at + self.spec.seconds)
        for client in self.clients:  # a server that is late ends no stream within the window
            if client.waiting:
                self.window.count_delays(client, self.spec.period_s)
        yield self.window.close()
        if not self.spec.period_s:  # paced streams would take too long: they are cut
            self._drain()

    def _ramp(self) -> None:
        """Start the clients one after the other, so that paced streams do not all end at the same time."""
        began = time.perf_counter()
        for index, client in enumerate(self.clients):
            self._until(began + self.spec.ramp_s * index / len(self.clients))
            client.send_request()
        self._until(began + self.spec.ramp_s)

    def _until(self, end: float) -> None:
        while (left := end - time.perf_counter()) > 0:
            self._poll(left, next_request=True)

    def _drain(self) -> None:
        end = time.perf_counter() + TIMEOUT_S
        while any(client.waiting for client in self.clients):
            if time.perf_counter() > end:
                raise LoadGeneratorError("responses are missing")
            self._poll(0.1, next_request=False)

    def _poll(self, timeout_s: float, next_request: bool) -> None:
        ready = self.epoll.poll(min(timeout_s, 1.0))
        for fd, _ in ready:
            client = self.by_fd[fd]
            before = client.tokens
            ended = client.read()
            self.window.tokens += client.tokens - before
            if ended:
                self.window.count(client, self.spec.period_s)
                if next_request:
                    client.send_request()
        now = time.perf_counter()
        if ready:
            self.last_answer_at = now
        elif now - self.last_answer_at > TIMEOUT_S and any(client.waiting for client in self.clients):
            raise LoadGeneratorError(f"no response for {TIMEOUT_S:.0f} s")

    def close(self) -> None:
        """Close the connections."""
        self.epoll.close()
        for client in self.clients:
            client.close()


class Measurement(Protocol):
    """A measurement under way."""

    def measure(self) -> Iterator[Any]:
        """Yields None when the window opens and the result, a dataclass, when it closes."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def serve(begin: Callable[[dict[str, Any]], Measurement]) -> None:
    """Run the measurements that stdin asks for, until it ends or stdout is closed."""
    with suppress(KeyboardInterrupt, BrokenPipeError):
        for line in sys.stdin:
            try:
                run = begin(json.loads(line))
                try:
                    for result in run.measure():
                        _write({} if result is None else asdict(result))
                finally:
                    run.close()
                _write({"done": True})
            except (LoadGeneratorError, OSError) as error:
                _write({"error": f"{type(error).__name__}: {error}"})


def _write(message: object) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(lambda spec: WindowMeasurement(LoadSpec(**spec)))
