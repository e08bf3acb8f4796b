"""The load generator, a process of its own: `python -m benchmarks.engines.load_generator`. Jobs come on stdin.

The work is fixed and its time is measured: no answer is cut by the end of a window, of which each holds a
few only. Every question has a connection of its own, for llama-server closes it after each stream.
"""

from __future__ import annotations

import json
import re
import select
import socket
import time
from collections.abc import Iterator
from statistics import median

from benchmarks.engines.load_messages import BEGINNING, QUESTION, TOKENS, Job, Measured
from benchmarks.load_generator import HOST, LoadError, serve

READ_BYTES = 1 << 18
PATIENCE_S = 60.0
"""A measurement in which nobody is told anything for so long has failed."""

SPOKEN = ("content", "reasoning", "reasoning_content")
WORDS = re.compile(rf'"(?:{"|".join(SPOKEN)})": ?"[^"]'.encode())


class Client:
    """One that asks, reads the answer to its end, and asks again."""

    def __init__(self, request: bytes, port: int, answers: int) -> None:
        self.left = answers
        self.waits: list[float] = []
        self.answers: list[bytes] = []
        self._request, self._port = request, port
        self._heard = bytearray()
        self._asked_at = 0.0
        self._waits = False
        self.socket = socket.socket()

    def ask(self) -> None:
        """Connect and send the question."""
        self.left -= 1
        self._heard.clear()
        self._waits = True
        self._asked_at = time.perf_counter()
        self.socket = socket.create_connection((HOST, self._port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(self._request)
        self.socket.setblocking(False)

    def read(self) -> bool:
        """Take what is there; true at the end of the answer."""
        data = self.socket.recv(READ_BYTES)
        if not data:
            self.socket.close()
            self.answers.append(bytes(self._heard))
            return True
        self._heard += data
        if self._waits and WORDS.search(self._heard):
            self._waits = False
            self.waits.append(time.perf_counter() - self._asked_at)
        return False


def check(answer: bytes) -> None:
    """Raise `LoadError` unless it is the answer that was asked for, in its full length."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise LoadError(f"the answer was {answer[:600].decode('utf-8', 'replace')}")
    if b"transfer-encoding: chunked" in head.lower():
        body = b"".join(chunks(body))
    events = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    if not events or events.pop() != b"[DONE]":
        raise LoadError(f"an answer that ends with {answer[-600:]!r}")
    said, tokens = "", 0
    for event in map(json.loads, events):
        for choice in event.get("choices", ()):  # a parser may take what a model says for its thoughts
            said += "".join(choice["delta"].get(name) or "" for name in SPOKEN)
        tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
    if tokens != TOKENS or not said.startswith(BEGINNING):
        raise LoadError(f"an answer of {tokens} tokens, {said[:60]!r}")


def chunks(body: bytes) -> Iterator[bytes]:
    """The data of a chunked body."""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        yield rest[:length]
        body = rest[length + 2 :] if length else b""


def request_of(job: Job) -> bytes:
    """The request, byte for byte."""
    body = json.dumps(
        {
            "model": job.model,
            "messages": [{"role": "user", "content": QUESTION}],
            "max_tokens": TOKENS,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    )
    return (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {job.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    ).encode()


class Run:
    """All clients of one job."""

    def __init__(self, job: Job) -> None:
        request = request_of(job)
        self.tokens = job.clients * job.answers * TOKENS
        self.clients = [Client(request, job.port, job.answers) for _ in range(job.clients)]
        self.by_fd: dict[int, Client] = {}
        self.epoll = select.epoll()

    def measure(self) -> Iterator[Measured | None]:
        """Yields None at the beginning and the figures at the end."""
        yield None
        cpu, began = time.process_time(), time.perf_counter()
        for client in self.clients:
            self._ask(client)
        while self.by_fd:
            ready = self.epoll.poll(PATIENCE_S)
            if not ready:
                raise LoadError("answers are missing")
            for fd, _ in ready:
                client = self.by_fd[fd]
                if client.read():
                    del self.by_fd[fd]  # its socket is closed, so epoll knows it no more
                    if client.left:
                        self._ask(client)
        seconds, used = time.perf_counter() - began, time.process_time() - cpu
        for client in self.clients:  # not before: looking into an answer costs more than hearing it
            for answer in client.answers:
                check(answer)
        firsts = [wait for client in self.clients for wait in client.waits]
        yield Measured(seconds, self.tokens, median(firsts) * 1000, used)

    def _ask(self, client: Client) -> None:
        client.ask()
        self.by_fd[client.socket.fileno()] = client
        self.epoll.register(client.socket.fileno(), select.EPOLLIN)

    def close(self) -> None:
        """Hang up."""
        self.epoll.close()
        for client in self.clients:
            client.socket.close()


if __name__ == "__main__":
    serve(lambda job: Run(Job(**job)))
