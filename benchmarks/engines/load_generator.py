"""The load generator process: `python -m benchmarks.engines.load_generator`. Specs come on stdin as JSON.

It measures the time of a fixed amount of work: a window of fixed length would cut responses, and has only few
of them. Every request has its own connection, since llama-server closes it after each stream.
"""

from __future__ import annotations

import json
import re
import select
import socket
import time
from collections.abc import Iterator
from statistics import median

from benchmarks.engines.load_messages import TOKENS, EngineLoadResult, EngineLoadSpec
from benchmarks.load_generator import HOST, LoadGeneratorError, serve

READ_BYTES = 1 << 18
TIMEOUT_S = 60.0
"""The limit of the time without any data."""

TEXT_FIELDS = ("content", "reasoning", "reasoning_content")
FIRST_TEXT = re.compile(rf'"(?:{"|".join(TEXT_FIELDS)})": ?"[^"]'.encode())


class OneShotClient:
    """Sends a request, reads the response to its end, and sends the next request."""

    def __init__(self, request: bytes, port: int, answers: int) -> None:
        self.left = answers
        self.first_token_s: list[float] = []
        self.answers: list[bytes] = []
        self._request, self._port = request, port
        self._received = bytearray()
        self._sent_at = 0.0
        self._awaits_first = False
        self.socket = socket.socket()

    def send_request(self) -> None:
        """Connect and send the request."""
        self.left -= 1
        self._received.clear()
        self._awaits_first = True
        self._sent_at = time.perf_counter()
        self.socket = socket.create_connection((HOST, self._port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(self._request)
        self.socket.setblocking(False)

    def read(self) -> bool:
        """Read the available bytes. Returns whether the response is complete."""
        data = self.socket.recv(READ_BYTES)
        if not data:
            self.socket.close()
            self.answers.append(bytes(self._received))
            return True
        self._received += data
        if self._awaits_first and FIRST_TEXT.search(self._received):
            self._awaits_first = False
            self.first_token_s.append(time.perf_counter() - self._sent_at)
        return False


def check(answer: bytes, spec: EngineLoadSpec) -> int:
    """The number of a response's tokens. Raises `LoadGeneratorError` unless it is as the spec asks."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise LoadGeneratorError(f"the response is {answer[:600].decode('utf-8', 'replace')}")
    if b"transfer-encoding: chunked" in head.lower():
        body = b"".join(chunks(body))
    events = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    if not events or events.pop() != b"[DONE]":
        raise LoadGeneratorError(f"a response that ends with {answer[-600:]!r}")
    text, tokens = "", 0
    for event in map(json.loads, events):
        for choice in event.get("choices", ()):  # a parser may take the text for reasoning
            text += "".join(choice["delta"].get(name) or "" for name in TEXT_FIELDS)
        tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
    is_complete = tokens == TOKENS or (spec.temperature > 0 and 0 < tokens < TOKENS)
    if not (is_complete and text.startswith(spec.expected_start)):
        raise LoadGeneratorError(f"a response of {tokens} tokens, {text[:60]!r}")
    return tokens


def chunks(body: bytes) -> Iterator[bytes]:
    """The data of a body with chunked transfer encoding."""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        yield rest[:length]
        body = rest[length + 2 :] if length else b""


def encode_request(spec: EngineLoadSpec) -> bytes:
    """The bytes of the HTTP request."""
    body = json.dumps(
        {
            "model": spec.model,
            "messages": [{"role": "user", "content": spec.prompt}],
            "max_tokens": TOKENS,
            "temperature": spec.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    )
    return (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {spec.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    ).encode()


class FixedWorkMeasurement:
    """All clients of one measurement."""

    def __init__(self, spec: EngineLoadSpec) -> None:
        request = encode_request(spec)
        self._spec = spec
        self.clients = [OneShotClient(request, spec.port, spec.answers) for _ in range(spec.clients)]
        self.by_fd: dict[int, OneShotClient] = {}
        self.epoll = select.epoll()

    def measure(self) -> Iterator[EngineLoadResult | None]:
        """Yields None at the beginning and the result at the end."""
        yield None
        cpu, began = time.process_time(), time.perf_counter()
        for client in self.clients:
            self._send_request(client)
        while self.by_fd:
            ready = self.epoll.poll(TIMEOUT_S)
            if not ready:
                raise LoadGeneratorError("responses are missing")
            for fd, _ in ready:
                client = self.by_fd[fd]
                if client.read():
                    del self.by_fd[fd]  # epoll has dropped the closed socket
                    if client.left:
                        self._send_request(client)
        seconds, used_s = time.perf_counter() - began, time.process_time() - cpu
        # after the measurement, since a check takes more time than reading
        tokens = sum(check(answer, self._spec) for client in self.clients for answer in client.answers)
        firsts = [wait for client in self.clients for wait in client.first_token_s]
        yield EngineLoadResult(seconds, tokens, median(firsts) * 1000, used_s)

    def _send_request(self, client: OneShotClient) -> None:
        client.send_request()
        self.by_fd[client.socket.fileno()] = client
        self.epoll.register(client.socket.fileno(), select.EPOLLIN)

    def close(self) -> None:
        """Close the connections."""
        self.epoll.close()
        for client in self.clients:
            client.socket.close()


if __name__ == "__main__":
    serve(lambda spec: FixedWorkMeasurement(EngineLoadSpec(**spec)))
