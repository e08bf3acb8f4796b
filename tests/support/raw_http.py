"""HTTP/1.1 over plain sockets: any bytes can be sent, and the answers are parsed from what comes back."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tests.support.waiting import scaled

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of zero: closing the socket sends a reset instead of an orderly end."""

Address = tuple[str, int]


@dataclass(frozen=True)
class Answer:
    """One HTTP answer. The names of the headers are in lower case; `body` is without the chunks' framing."""

    version: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def error(self) -> dict[str, Any]:
        """The error in the API's envelope; fails when the body is anything else."""
        body = self.json()
        assert set(body) == {"error"}, body
        assert set(body["error"]) == {"message", "type", "param", "code"}, body
        return dict(body["error"])


class Incomplete(Exception):
    """Raised when the bytes are not a whole answer yet."""


def request(
    method: str, path: str, body: bytes = b"", *, version: str = "1.1", **headers: str | None
) -> bytes:
    """The bytes of a request with a body of known length. Headers are named as in `content_type="..."`;
    None leaves one out.
    """
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    fields = {"Host": "stoker", **({"Content-Length": str(len(body))} if body else {}), **given}
    lines = [f"{method} {path} HTTP/{version}"]
    lines += [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """A chunked body."""
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end


def parse(data: bytes, *, closed: bool) -> tuple[Answer, bytes]:
    """The first answer in `data`, and the bytes after it. Raises `Incomplete`.

    `closed` is whether the server has ended the connection, which ends a body without a length.
    """
    head, separator, rest = data.partition(b"\r\n\r\n")
    if not separator:
        raise Incomplete
    first, *lines = head.decode("latin-1").split("\r\n")
    version, status, *_ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if status.startswith("1") or status in ("204", "304"):
        body = b""
    elif "chunked" in headers.get("transfer-encoding", ""):
        body, end, whole = decode_chunks(rest)
        if not whole:
            raise Incomplete
        rest = rest[end:]
    elif (length := headers.get("content-length")) is not None:
        if len(rest) < int(length):
            raise Incomplete
        body, rest = rest[: int(length)], rest[int(length) :]
    elif closed:
        body, rest = rest, b""
    else:
        raise Incomplete
    return Answer(version.removeprefix("HTTP/"), int(status), headers, body), rest


def decode_chunks(data: bytes) -> tuple[bytes, int, bool]:
    """The whole chunks in `data`: their content, where they end in `data`, and whether the last one came."""
    body, at = bytearray(), 0
    while True:
        line_end = data.find(b"\r\n", at)
        if line_end < 0:
            return bytes(body), at, False
        size = int(data[at:line_end], 16)
        chunk_at = line_end + 2
        chunk_end = chunk_at + size
        if len(data) < chunk_end + 2:
            return bytes(body), at, False
        assert data[chunk_end : chunk_end + 2] == b"\r\n", "a chunk with a wrong length"
        body += data[chunk_at:chunk_end]
        at = chunk_end + 2
        if size == 0:
            return bytes(body), at, True


class RawClient:
    """One connection, used by one thread.

    `source` is the client's own address, 127.0.0.1 by default.
    A read or a send fails after `timeout_s` (scaled).
    """

    def __init__(
        self,
        address: Address,
        *,
        source: str = "127.0.0.1",
        timeout_s: float = 10,
        receive_buffer: int | None = None,
    ) -> None:
        self.socket = connected(address, source, timeout_s, receive_buffer)
        self.unread = b""
        self.ended = False

    def send(self, data: bytes) -> None:
        """Send all; what the server no longer accepts is dropped, since it may have answered already."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(data)

    def receive(self) -> bool:
        """Read once; False when the server has ended the connection. Raises `TimeoutError`."""
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionError:
            data = b""
        self.unread += data
        self.ended = not data
        return bool(data)

    def answer(self) -> Answer:
        """The next answer. Raises `Incomplete` when the connection ends before it is whole."""
        while True:
            try:
                answer, self.unread = parse(self.unread, closed=self.ended)
            except Incomplete:
                if self.ended:
                    raise
                self.receive()
            else:
                return answer

    def read_until(self, text: bytes) -> bytes:
        """Read until `text` has come; returns all unread bytes."""
        while text not in self.unread:
            assert self.receive(), f"the connection ended before {text!r}: {self.unread[-500:]!r}"
        return self.unread

    def wait_for_end(self, seconds: float) -> float:
        """Read until the server ends the connection; returns the seconds that it took.

        Fails if the connection is open after `seconds` (scaled).
        """
        began = time.monotonic()
        while True:
            left = began + scaled(seconds) - time.monotonic()
            assert left > 0, f"the connection is open after {scaled(seconds):g} s"
            self.socket.settimeout(left)
            try:
                if not self.receive():
                    return time.monotonic() - began
            except TimeoutError:
                continue

    def reset(self) -> None:
        """Close the connection with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.socket.close()

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connected(
    address: Address, source: str, timeout_s: float, receive_buffer: int | None = None
) -> socket.socket:
    """A connected socket. A small `receive_buffer` also keeps the server's send buffer small, since the
    kernel sizes it by the window of the other side.
    """
    client = socket.socket()
    try:
        if receive_buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(scaled(timeout_s))
        client.bind((source, 0))
        client.connect(address)
    except BaseException:
        client.close()
        raise
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def exchange(address: Address, data: bytes, **options: Any) -> Answer:
    """Send these bytes on a connection of their own, and return the first answer."""
    with RawClient(address, **options) as client:
        client.send(data)
        return client.answer()
