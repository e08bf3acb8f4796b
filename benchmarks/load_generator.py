"""The load generator, a process of its own: `python -m benchmarks.load_generator`, jobs on stdin, one JSON a line.

Clients are keep-alive sockets in one epoll loop that write requests made beforehand and look for as little
as possible in what comes back, so that two cores are left to what is measured. Two lines answer a job: an
empty object when its window opens, a `Measured` when it closes, or `{"error": text}` instead.
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

from benchmarks.load_messages import PROMPT, TOKENS, Job, Measured, percentile

HOST = "127.0.0.1"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
LAST_CHUNK = b"\r\n0\r\n\r\n"
CHUNK = re.compile(rb"\r\n[0-9a-fA-F]+\r\n")
DELTA = re.compile(rb'"delta":"([^"]*)"')
TOKEN = b"tok"
PATIENCE_S = 5.0
"""A window in which nobody is answered for so long, or that takes so long to drain, has failed."""


class LoadError(Exception):
    """Raised when an answer is not what it should be."""


class Client:
    """One keep-alive connection that asks, reads the answer, and asks again."""

    def __init__(self, request: bytes, port: int, stream: bool, paced: bool) -> None:
        self.request, self.stream, self.paced = request, stream, paced
        self.socket = socket.create_connection((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.busy = False
        self.asked_at = 0.0
        self.begun = False  # to be answered
        self.heard = b""  # of a stream: the end only, which is no whole event yet
        self.tokens = 0
        self.arrivals: list[float] = []  # of a paced stream's tokens
        self._missing = -1  # bytes of an answer with a length; -1 before its head is read

    def ask(self) -> None:
        """Send the request."""
        self.busy, self.begun, self.heard, self._missing = True, False, b"", -1
        self.tokens, self.arrivals = 0, []
        self.asked_at = time.perf_counter()
        if self.socket.send(self.request) != len(self.request):
            raise LoadError("a request did not fit into the socket")

    def read(self) -> bool:
        """Take what is there; true at the end of the answer."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise LoadError(f"the server hung up after {self.heard[:300]!r}")
        if not self.begun and not data.startswith(b"HTTP/1.1 200"):
            raise LoadError(f"the answer was {data[:600].decode('utf-8', 'replace')}")
        self.begun = True
        ended = self._read_stream(data) if self.stream else self._read_whole(data)
        self.busy = not ended
        return ended

    def _read_stream(self, data: bytes) -> bool:
        heard = self.heard + data
        ended = heard.endswith(LAST_CHUNK)
        events, _, self.heard = (heard, b"", b"") if ended else heard.rpartition(b"\n\n")
        # a chunk may end within an event, and an event may bring several tokens
        found = sum(text.count(TOKEN) for text in DELTA.findall(CHUNK.sub(b"", events)))
        self.tokens += found
        if found and self.paced:
            self.arrivals.extend([time.perf_counter()] * found)
        if ended and self.tokens != TOKENS:
            raise LoadError(f"a stream of {self.tokens} tokens that ends with {data[-600:]!r}")
        return ended

    def _read_whole(self, data: bytes) -> bool:
        self.heard += data
        if self._missing < 0:
            head = self.heard.find(b"\r\n\r\n")
            if head < 0:
                return False
            length = LENGTH.search(self.heard, 0, head)
            if length is None:
                raise LoadError("an answer without a length")
            self._missing = head + 4 + int(length[1])
        return len(self.heard) >= self._missing

    def close(self) -> None:
        """Hang up."""
        self.socket.close()


class Tally:
    """What is counted while the window is open."""

    def __init__(self) -> None:
        self.opened_at = time.perf_counter()
        self.cpu = time.process_time()
        self.latencies: list[float] = []
        self.tokens = 0
        self.delays: list[float] = []

    def take(self, client: Client, period_s: float) -> None:
        """Count an answer that is whole."""
        self.latencies.append(time.perf_counter() - client.asked_at)
        if period_s:
            self.delays.extend(delays(client.arrivals, period_s))

    def close(self) -> Measured:
        """The end of the window."""
        seconds = time.perf_counter() - self.opened_at
        return Measured(
            seconds=seconds,
            requests=len(self.latencies),
            tokens=self.tokens,
            latency_p50_ms=_ms(percentile(self.latencies, 0.5)),
            latency_p95_ms=_ms(percentile(self.latencies, 0.95)),
            late_p50_ms=_ms(percentile(self.delays, 0.5)),
            late_p95_ms=_ms(percentile(self.delays, 0.95)),
            generator_cpu_s=time.process_time() - self.cpu,
        )


def delays(arrivals: list[float], period_s: float) -> list[float]:
    """How late each token came: the best of its stream says where the beat is."""
    offsets = [at - index * period_s for index, at in enumerate(arrivals)]
    best = min(offsets)
    return [offset - best for offset in offsets]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def request_of(job: Job) -> bytes:
    """The request, byte for byte."""
    body = f'{{"model":"{job.model}","stream":{str(job.stream).lower()},"input":"{PROMPT}"}}'
    return (
        f"POST /v1/responses HTTP/1.1\r\nHost: {HOST}:{job.port}\r\nAuthorization: Bearer {job.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


class Run:
    """All clients of one job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        request = request_of(job)
        self.clients = [Client(request, job.port, job.stream, job.period_s > 0) for _ in range(job.clients)]
        self.by_fd = {client.socket.fileno(): client for client in self.clients}
        self.epoll = select.epoll()
        for fd in self.by_fd:
            self.epoll.register(fd, select.EPOLLIN)
        self.tally = Tally()
        self.answered_at = time.perf_counter()

    def measure(self) -> Iterator[Measured | None]:
        """Yields None when the window opens and the figures when it closes."""
        self._ramp()
        self.tally = Tally()
        yield None
        self._until(self.tally.opened_at + self.job.seconds)
        yield self.tally.close()
        if not self.job.period_s:  # paced streams would take their time: those are cut
            self._drain()

    def _ramp(self) -> None:
        """Begin one after the other, so that paced streams do not all end at once."""
        began = time.perf_counter()
        for index, client in enumerate(self.clients):
            self._until(began + self.job.ramp_s * index / len(self.clients))
            client.ask()
        self._until(began + self.job.ramp_s)

    def _until(self, end: float) -> None:
        while (left := end - time.perf_counter()) > 0:
            self._turn(left, again=True)

    def _drain(self) -> None:
        end = time.perf_counter() + PATIENCE_S
        while any(client.busy for client in self.clients):
            if time.perf_counter() > end:
                raise LoadError("answers are missing")
            self._turn(0.1, again=False)

    def _turn(self, timeout_s: float, again: bool) -> None:
        ready = self.epoll.poll(min(timeout_s, 1.0))
        for fd, _ in ready:
            client = self.by_fd[fd]
            before = client.tokens
            ended = client.read()
            self.tally.tokens += client.tokens - before
            if ended:
                self.tally.take(client, self.job.period_s)
                if again:
                    client.ask()
        now = time.perf_counter()
        if ready:
            self.answered_at = now
        elif now - self.answered_at > PATIENCE_S and any(client.busy for client in self.clients):
            raise LoadError(f"no answer for {PATIENCE_S:.0f} s")

    def close(self) -> None:
        """Hang up."""
        self.epoll.close()
        for client in self.clients:
            client.close()


class Work(Protocol):
    """A job under way."""

    def measure(self) -> Iterator[Any]:
        """Yields None when the window opens and the figures, a dataclass, when it closes."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


def serve(begin: Callable[[dict[str, Any]], Work]) -> None:
    """Do jobs until stdin ends, or until whoever measures is gone."""
    with suppress(KeyboardInterrupt, BrokenPipeError):
        for line in sys.stdin:
            try:
                work = begin(json.loads(line))
                try:
                    for measured in work.measure():
                        _say({} if measured is None else asdict(measured))
                finally:
                    work.close()
                _say({"done": True})
            except (LoadError, OSError) as error:
                _say({"error": f"{type(error).__name__}: {error}"})


def _say(message: object) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(lambda job: Run(Job(**job)))
