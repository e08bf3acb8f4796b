"""Many streaming clients in one epoll loop, for `benchmarks.idle_streams`."""

from __future__ import annotations

import json
import select
import socket
import time
from types import TracebackType

from benchmarks.generator_process import BenchmarkError
from benchmarks.processes import HOST

OPENING = 64  # streams whose first event has not arrived yet
TIMEOUT_S = 60.0
"""The limit of the time without any data while data is expected."""

TOKEN = b"response.output_text.delta"
LAST_CHUNK = b"0\r\n\r\n"


class IdleClient:
    """One stream. Of what it has read it keeps the end only."""

    def __init__(self, request: bytes, port: int) -> None:
        self.socket = socket.create_connection((HOST, port))
        self.socket.sendall(request)
        self.socket.setblocking(False)
        self.begun = self.has_token = self.ended = False
        self._received = b""

    def read(self) -> None:
        """Read what is available. Raises `BenchmarkError` if the stream is refused or cut."""
        data = self._received + self.socket.recv(1 << 16)
        if data == self._received:
            raise BenchmarkError("the API has closed a stream")
        if not self.begun:
            if not data.startswith(b"HTTP/1.1 200"):
                raise BenchmarkError(f"the API refuses a stream: {data[:300]!r}")
            self.begun = b"\n\n" in data  # the first event
        self.has_token = self.has_token or TOKEN in data
        self.ended = data.endswith(LAST_CHUNK)
        self._received = data if not self.begun else data[-len(TOKEN) :]


class IdleClients:
    """The streams of requests to one model; they are closed at the end of the block."""

    def __init__(self, port: int, key: str, model: str) -> None:
        self._port, self._key, self._model = port, key, model
        self._clients: dict[int, IdleClient] = {}
        self._begun = self._ended = 0
        self._epoll = select.epoll()

    def open(self, count: int, prompt: str) -> None:
        """Open so many streams, and wait for the first event of each. Raises `BenchmarkError`."""
        request = self._request(prompt)
        target = len(self._clients) + count
        while self._begun < target:
            while len(self._clients) < min(target, self._begun + OPENING):
                client = IdleClient(request, self._port)
                self._clients[client.socket.fileno()] = client
                self._epoll.register(client.socket, select.EPOLLIN)
            self._read(TIMEOUT_S)

    def read_for(self, seconds: float) -> None:
        """Read what arrives in this time. Raises `BenchmarkError`."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._read(left, required=False)

    def read_answers(self) -> int:
        """Read until all streams have ended. Returns how many had a token. Raises `BenchmarkError`."""
        while self._ended < len(self._clients):
            self._read(TIMEOUT_S)
        return sum(client.has_token for client in self._clients.values())

    def _request(self, prompt: str) -> bytes:
        body = json.dumps({"model": self._model, "input": prompt, "stream": True, "store": False})
        return (
            f"POST /v1/responses HTTP/1.1\r\nHost: {HOST}:{self._port}\r\n"
            f"Authorization: Bearer {self._key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()

    def _read(self, timeout_s: float, required: bool = True) -> None:
        """Read from the sockets that have data. Raises `BenchmarkError` if `required` data does not come."""
        ready = self._epoll.poll(timeout_s)
        if required and not ready:
            raise BenchmarkError(f"the API has sent nothing for {timeout_s:g} s")
        for fd, _ in ready:
            client = self._clients[fd]
            begun, ended = client.begun, client.ended
            client.read()
            self._begun += client.begun and not begun
            self._ended += client.ended and not ended

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.socket.close()
        self._clients.clear()

    def __enter__(self) -> IdleClients:
        """Nothing is open yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        self.close()
        self._epoll.close()
