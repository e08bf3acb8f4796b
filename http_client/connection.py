"""One connection of `HttpClient`: one request at a time, and its response as it arrives.

httptools (llhttp) parses the response.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import httptools

WRITE_BYTES = 1 << 16
MAX_HEAD_BYTES = 1 << 16
MAX_UNREAD_BYTES = 1 << 18
"""Bytes of a body that wait for `read_some`; with more the socket is not read."""


class HttpError(Exception):
    """Raised when a request finds no connection, or loses it; `cause` is the error of the lowest layer."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.cause = cause


class ReadTimeout(HttpError):
    """Raised when the server neither took nor sent anything for too long."""


class NotHttp(Exception):
    """The cause of an `HttpError` where the server's answer is not HTTP, or its head is too long."""


class HttpConnection(asyncio.Protocol):
    """A connection, for one loop. `transport` is replaced when TLS begins.

    The client calls `begin`, `send`, `read_head`, then `read_some` until the body's end, then `end`; it may
    begin again if `can_be_reused`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.transport: asyncio.Transport
        self.status = 0
        self.reason = ""
        self.headers: Mapping[str, str] = {}
        """By lower-case name; of several fields with one name the last."""
        self.has_received = False
        """Whether a byte of the response has arrived."""
        self.is_complete = True
        """Whether the response has arrived to its end, or none is expected."""
        self.is_closed = False
        self._loop = loop
        self._parser: Any = None
        self._fields: dict[str, str] = {}
        self._has_head = False
        self._bytes_without_body = 0
        self._keeps_alive = False
        self._sent_all = True
        self._pieces: list[bytes] = []
        self._unread = 0
        self._error: HttpError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_reading_paused = False
        self._is_writing_paused = False
        self._silence_s: float | None = None
        self._active_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # ---- the client's side

    @property
    def can_be_reused(self) -> bool:
        """Whether the response has ended, and the server keeps the connection for another request."""
        return self.is_complete and self._keeps_alive and self._sent_all and not self.is_closed

    def begin(self, silence_s: float | None) -> None:
        """Expect a response. `silence_s` is how long the server may take or send nothing; None: forever."""
        self._parser = httptools.HttpResponseParser(self)
        # as other clients do: servers of models are simple programs
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self.has_received = self.is_complete = self._has_head = self._keeps_alive = False
        self._bytes_without_body = 0
        self._drop_unread()
        self.set_read_timeout(silence_s)

    def set_read_timeout(self, silence_s: float | None) -> None:
        """Set how long the server may be silent from now on."""
        self._silence_s = silence_s
        self._active_at = self._loop.time()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if silence_s is None else self._loop.call_later(silence_s, self._check_silence)

    async def send(self, head: bytes, body: bytes) -> None:
        """Send a request; a long body in pieces, each when the server has taken most of those before it.

        It ends early when the request is refused before the body's end, or the connection is lost.
        """
        self._sent_all = len(body) <= WRITE_BYTES
        if self._sent_all:
            self.transport.write(head + body)
            return
        self.transport.write(head)
        for start in range(0, len(body), WRITE_BYTES):
            while self._is_writing_paused and not self._is_refused and self._error is None:
                await self._wait()
            if self._is_refused or self._error is not None:
                return
            self.transport.write(body[start : start + WRITE_BYTES])
            await asyncio.sleep(0)  # what has arrived is read before a write may find the connection lost
        self._sent_all = True

    @property
    def _is_refused(self) -> bool:
        return self._has_head and self.status >= 300

    async def read_head(self) -> None:
        """Wait for `status` and `headers`. Raises `HttpError`."""
        while not self._has_head:
            if self._error is not None:
                raise self._error
            await self._wait()

    async def read_some(self) -> bytes:
        """Wait for the next piece of the body and return all of it that is there; empty at the body's end.

        Raises `HttpError`.
        """
        while not self._pieces:
            if self.is_complete:
                return b""
            if self._error is not None:
                raise self._error
            await self._wait()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._drop_unread()
        self._active_at = self._loop.time()  # the reader's own delay is not the server's
        return data

    def end(self) -> None:
        """End the exchange: what was not read is dropped."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.can_be_reused:
            self._drop_unread()
        else:
            self.abort()

    @property
    def has_unread(self) -> bool:
        """Whether bytes of a body have arrived that were not read."""
        return bool(self._pieces)

    def _drop_unread(self) -> None:
        self._pieces.clear()
        self._unread = 0
        if self._is_reading_paused:
            self._is_reading_paused = False
            self.transport.resume_reading()

    def abort(self) -> None:
        """Cut the connection."""
        self.transport.abort()

    # ---- the event loop's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        """Parse."""
        if self.is_complete:  # nothing was asked
            self._keeps_alive = False
            self.abort()
            return
        self._active_at = self._loop.time()
        self.has_received = True
        self._bytes_without_body += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raised = error.__context__  # by a callback
            self._fail(HttpError(raised if isinstance(raised, NotHttp) else NotHttp(str(error))))
        if not self.is_complete and self._bytes_without_body > MAX_HEAD_BYTES:
            self._fail(HttpError(NotHttp("its head or the framing of its body is too long")))
        if self._unread > MAX_UNREAD_BYTES and not self._is_reading_paused:
            self._is_reading_paused = True
            self.transport.pause_reading()
        self._wake()

    def pause_writing(self) -> None:
        """The transport's buffer is full."""
        self._is_writing_paused = True

    def resume_writing(self) -> None:
        """The server has taken what was sent."""
        self._is_writing_paused = False
        self._active_at = self._loop.time()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the response: a body without a length ends with its connection (RFC 9112, 6.3)."""
        self.is_closed = True
        ends_here = self._has_head and "content-length" not in self.headers and not self._is_chunked()
        if exc is None and ends_here and self._error is None:
            self.is_complete = True
        self._fail(HttpError(exc or ConnectionError("it closed the connection")))
        self._wake()

    # ---- the parser's callbacks

    def on_message_begin(self) -> None:
        """A head begins. Raises `NotHttp` for a second response to one request."""
        if self.is_complete:
            self._keeps_alive = False
            raise NotHttp("it sent more than one response")
        self._fields, self.reason = {}, ""

    def on_status(self, reason: bytes) -> None:
        """A part of the reason phrase."""
        self.reason += reason.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of the head, or of the trailers, which are dropped."""
        if not self._has_head:
            self._fields[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The head is complete; those of interim responses (RFC 9110, 15.2) are passed over.

        Raises `NotHttp` for a status that is none.
        """
        status = self._parser.get_status_code()
        if status < 100:
            raise NotHttp(f"its status is {status}")  # with a body, which interim responses do not have
        if status >= 200:
            self.status, self.headers, self._has_head = status, self._fields, True

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        self._pieces.append(data)
        self._unread += len(data)
        self._bytes_without_body = 0

    def on_message_complete(self) -> None:
        """The response is complete, unless it was an interim one."""
        if self._has_head:
            self.is_complete = True
            self._keeps_alive = self._parser.should_keep_alive()

    # ---- waiting

    async def _wait(self) -> None:
        """Wait until anything has changed."""
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _check_silence(self) -> None:
        self._timer = None
        if self._silence_s is None or self.is_complete:
            return
        left_s = self._active_at + self._silence_s - self._loop.time()
        if self._unread and self._sent_all:  # it is the reader that is slow
            left_s = self._silence_s
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._check_silence)
            return
        self._fail(ReadTimeout(TimeoutError("the server was silent for too long")))
        self._wake()

    def _fail(self, error: HttpError) -> None:
        if self._error is None:
            self._error = error

    def _is_chunked(self) -> bool:
        return "chunked" in self.headers.get("transfer-encoding", "").lower()
