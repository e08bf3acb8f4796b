"""A client's connection, for whoever must not wait for it.

gunicorn's own thread writes the head of a response and whatever its generator yields. Between two yields
nobody writes, so another thread may, framed as gunicorn does it (RFC 9112, 7.1: chunked, from HTTP/1.1 on).
"""

from __future__ import annotations

from collections.abc import Mapping
from socket import MSG_DONTWAIT, socket
from ssl import SSLSocket
from typing import Any


class ChunkedWriter:
    """Where the body of one streamed response goes. Not for two threads at once."""

    def __init__(self, connection: socket, *, chunked: bool) -> None:
        self._connection = connection
        self._chunked = chunked
        self._rest = b""

    @classmethod
    def of(cls, environ: Mapping[str, Any]) -> ChunkedWriter | None:
        """The outlet of a request that gunicorn answers; None where another server does, or TLS is spoken."""
        connection = environ.get("gunicorn.socket")
        if not isinstance(connection, socket) or isinstance(connection, SSLSocket):
            return None
        return cls(connection, chunked=environ["SERVER_PROTOCOL"] not in ("HTTP/0.9", "HTTP/1.0"))

    @property
    def free(self) -> bool:
        """Whether all that was written is on its way."""
        return not self._rest

    def write(self, data: bytes) -> None:
        """Send what the connection takes without waiting; `settle` sends the rest. Raises `OSError`."""
        if not data:
            return  # an empty chunk would end the body
        self._rest += b"%X\r\n%b\r\n" % (len(data), data) if self._chunked else data
        try:
            sent = self._connection.send(self._rest, MSG_DONTWAIT)
        except BlockingIOError:
            return
        self._rest = self._rest[sent:]

    def settle(self) -> None:
        """Send the rest, however long the client takes. Raises `OSError`."""
        if self._rest:
            rest, self._rest = self._rest, b""
            self._connection.sendall(rest)
