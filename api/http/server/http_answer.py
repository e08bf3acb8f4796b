"""The answer to one request: a `ClientConnection` over the HTTP protocol."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from enum import IntEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from api.http.server.client_connection import NO_HEADERS, Headers
from api.http.server.connections import Connections
from telemetry.request_ids import RequestIds

if TYPE_CHECKING:
    from api.http.server.request import HttpRequest

STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
WITHOUT_BODY = (204, 304)

Fields = Iterable[tuple[str, str]]


class State(IntEnum):
    """How far an answer is."""

    NEW = 0
    BEGUN = 1
    COMPLETE = 2


class AnswerChannel(Protocol):
    """The connection on which an answer is written."""

    connections: Connections
    write_paused: bool

    def write(self, data: bytes) -> None:
        """Write bytes; they are dropped when the connection is gone."""
        ...

    def detach(self) -> None:
        """The event loop answers the request from now on."""
        ...

    def record_end(self, request: HttpRequest, answer: HttpAnswer) -> None:
        """Record an answer that has ended."""
        ...

    def complete_answer(self, keep_alive: bool) -> None:
        """The answer is complete; the connection takes the next request if it is kept alive."""
        ...

    def abort(self) -> None:
        """Close the connection at once."""
        ...


class HttpAnswer:
    """Writes one answer. The head of a streamed one leaves with its first part; the rest at once."""

    __slots__ = (
        "_begun_with_space",
        "_channel",
        "_chunked",
        "_keep_alive",
        "_on_disconnect",
        "_on_writable",
        "_request",
        "_state",
        "_unsent_head",
        "_with_body",
        "began_at",
        "detached",
        "gone",
        "headers",
        "ids",
        "sent",
        "status",
        "takes_trailers",
    )

    def __init__(self, channel: AnswerChannel, request: HttpRequest) -> None:
        self.headers: Headers = {}
        self.detached = False
        """Whether the event loop answers, so that the client's closing its side ends the request."""
        self.gone = False
        self.ids = RequestIds()
        self.began_at = time.monotonic()
        self.status = 0
        """0 until the head is made."""
        self.sent = 0
        """Bytes written for this answer."""
        self._channel = channel
        self._request = request
        self._keep_alive = request.keep_alive
        self._chunked = request.is_http_1_1
        wanted = request.wsgi.get("HTTP_TE")
        self.takes_trailers = wanted is not None and self._chunked and _names_trailers(wanted)
        """Whether a streamed answer may have trailers (RFC 9110, 6.5.1 and 10.1.4)."""
        self._with_body = request.method != "HEAD"
        self._state = State.NEW
        self._unsent_head = b""
        self._begun_with_space = False
        self._on_disconnect: list[Callable[[], None]] = []
        self._on_writable: list[Callable[[], None]] = []

    @property
    def writable(self) -> bool:
        """Whether the client keeps up: False while more than 64 KiB wait to be sent to it."""
        return not self._channel.write_paused

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Call back once when the client closes the connection before its answer is complete."""
        if self.gone:
            callback()
        else:
            self._on_disconnect.append(callback)

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time the connection becomes writable again."""
        self._on_writable.append(callback)

    def respond(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer."""
        self.respond_with_fields(status, {**self.headers, **headers}.items(), body)

    def respond_with_fields(self, status: int, fields: Fields, body: bytes) -> None:
        """Send a whole answer; a field's name may occur more than once."""
        if self._state is State.NEW:
            head = self._head(status, fields, None if status in WITHOUT_BODY else len(body))
            data = head + body if self._with_body else head
            self.sent += len(data)
            self._channel.write(data)
            self._complete()
        elif self._state is State.BEGUN and self._begun_with_space:
            self.write(body)
            self.end()
        elif self._state is State.BEGUN:
            self.abort()

    def write_space(self) -> None:
        """Begin a whole answer of JSON with white space, or continue that."""
        if self._state is State.NEW:
            self._begun_with_space = True
            self.begin(HTTPStatus.OK, {"Content-Type": "application/json"})
        if self._begun_with_space:
            self.write(b" ")

    def refuse(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer to a request that is not complete; the protocol closes the connection then."""
        self._keep_alive, self._state = False, State.COMPLETE
        head = self._head(status, headers.items(), len(body))
        data = head + body if self._with_body else head
        self.sent = len(data)
        self._channel.write(data)
        self._channel.record_end(self._request, self)

    def begin(self, status: int, headers: Headers) -> None:
        """Begin a streamed answer."""
        if self._state is State.NEW:
            self._state = State.BEGUN
            if not self._chunked:
                self._keep_alive = False  # HTTP/1.0: the end of the connection is the end of the body
            self._unsent_head = self._head(status, {**self.headers, **headers}.items(), None)
            if self._with_body:
                asyncio.get_running_loop().call_soon(self._send_head)
            else:
                self._complete_head()

    def write(self, data: bytes) -> None:
        """Send a part of a streamed answer."""
        if self._state is State.BEGUN and data:
            self._send(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def end(self, trailers: Headers = NO_HEADERS) -> None:
        """End a streamed answer; what was written is still sent, then the trailers (RFC 9112, 7.1.2)."""
        if self._state is State.BEGUN:
            fields = render_fields(trailers.items()).encode("latin-1") if self.takes_trailers else b""
            self._send(b"0\r\n%b\r\n" % fields if self._chunked else b"")
            self._complete()

    def abort(self) -> None:
        """Close the connection at once; what was not sent is lost."""
        if self._state is not State.COMPLETE:
            self._channel.abort()

    def detach(self, headers: Headers) -> None:
        """The event loop gives the answer, with these headers."""
        self.headers = headers
        self.detached = True
        if not self.gone:
            self._channel.detach()

    def lose_client(self) -> None:
        """Called by the protocol: the connection is gone."""
        if self._state is not State.COMPLETE:
            self._state = State.COMPLETE
            self.gone = True
            self._channel.record_end(self._request, self)
            callbacks, self._on_disconnect, self._on_writable = self._on_disconnect, [], []
            for callback in callbacks:
                callback()

    def resume(self) -> None:
        """Called by the protocol: the connection is writable again."""
        for callback in self._on_writable:
            callback()

    def _send(self, data: bytes) -> None:
        """Send the head, if it is not sent yet, and the data."""
        head, self._unsent_head = self._unsent_head, b""
        if head or data:
            self.sent += len(head) + len(data)
            self._channel.write(head + data)

    def _send_head(self) -> None:
        """Send the head if no part of the body has come with it."""
        if self._state is State.BEGUN:
            self._send(b"")

    def _complete_head(self) -> None:
        """The answer to HEAD ends with its head: whoever wants to write on has lost the client."""
        self._send(b"")
        self.gone = True
        loop = asyncio.get_running_loop()
        for callback in self._on_disconnect:
            loop.call_soon(callback)
        self._complete()

    def _complete(self) -> None:
        self._state = State.COMPLETE
        self._on_disconnect = []
        self._on_writable = []
        self._channel.record_end(self._request, self)
        self._channel.complete_answer(self._keep_alive)

    def _head(self, status: int, fields: Fields, size: int | None) -> bytes:
        """The head of an answer; `size` is the body's, None for a streamed one or none."""
        self.status = status
        connections = self._channel.connections
        self._keep_alive = self._keep_alive and not connections.draining
        if not self._with_body:  # an answer to HEAD has the length of the body that GET has
            fields = list(fields)
            size = next((int(value) for name, value in fields if name.lower() == "content-length"), size)
        if connections.cross_origin is not None:
            fields = [*fields, *connections.cross_origin.fields(self._request.wsgi)]
        chunked = self._state is State.BEGUN and self._chunked
        return render_head(
            status, fields, connections.date, size, chunked=chunked, keep_alive=self._keep_alive
        )


def render_head(  # noqa: PLR0913 - all that a head consists of
    status: int,
    fields: Fields,
    date: str,
    size: int | None,
    *,
    chunked: bool = False,
    keep_alive: bool = False,
) -> bytes:
    """The head of an answer. `date` is a whole field; `size` goes before a Content-Length in `fields`.

    Raises `ValueError` for a line break in a field.
    """
    text = render_fields(fields)
    framing = "" if size is None else f"Content-Length: {size}\r\n"
    if chunked:
        framing = "Transfer-Encoding: chunked\r\n"
    close = "" if keep_alive else "Connection: close\r\n"
    line = STATUS_LINES.get(status) or f"HTTP/1.1 {status} Unknown\r\n"
    return f"{line}{date}{text}{framing}{close}\r\n".encode("latin-1")


def _names_trailers(te: str) -> bool:
    return any(coding.strip().lower() == "trailers" for coding in te.split(","))


def render_fields(fields: Fields) -> str:
    """Fields without Content-Length, a line each.

    Raises `ValueError` for a line break in a field: it would end the head, or begin another answer.
    """
    lines = [f"{name}: {value}\r\n" for name, value in fields if name.lower() != "content-length"]
    text = "".join(lines)
    if text.count("\n") != len(lines) or text.count("\r") != len(lines):
        raise ValueError("a header of an answer contains a line break")
    return text
