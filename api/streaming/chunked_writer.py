"""Writes to a client's connection from a thread that must not block.

gunicorn's own thread writes the head of a response and each piece that its generator yields. Between two
yields that thread does not write, so another thread may, with gunicorn's framing (RFC 9112, 7.1: chunked,
from HTTP/1.1 on).
"""

from __future__ import annotations

from collections.abc import Mapping
from socket import MSG_DONTWAIT, socket
from ssl import SSLSocket
from typing import Any


class ChunkedWriter:
    """Writes the body of one streamed response. Not for two threads at once."""

    def __init__(self, connection: socket, *, chunked: bool) -> None:
        self._connection = connection
        self._chunked = chunked
        self._unsent = b""

    @classmethod
    def for_request(cls, environ: Mapping[str, Any]) -> ChunkedWriter | None:
        """The writer for a request; None for a TLS connection, and under another server than gunicorn."""
        connection = environ.get("gunicorn.socket")
        if not isinstance(connection, socket) or isinstance(connection, SSLSocket):
            return None
        return cls(connection, chunked=environ["SERVER_PROTOCOL"] not in ("HTTP/0.9", "HTTP/1.0"))

    @property
    def is_flushed(self) -> bool:
        """Whether the kernel has accepted all that was written."""
        return not self._unsent

    def write(self, data: bytes) -> None:
        """Send what the connection accepts without blocking; `flush` sends the rest. Raises `OSError`."""
        if not data:
            return  # an empty chunk would end the body
        self._unsent += b"%X\r\n%b\r\n" % (len(data), data) if self._chunked else data
        try:
            sent = self._connection.send(self._unsent, MSG_DONTWAIT)
        except BlockingIOError:
            return
        self._unsent = self._unsent[sent:]

    def flush(self) -> None:
        """Send the rest, and block for as long as the client needs. Raises `OSError`."""
        if self._unsent:
            unsent, self._unsent = self._unsent, b""
            self._connection.sendall(unsent)
