"""Parses the requests of one connection with httptools (llhttp), and checks their size as they arrive."""

from __future__ import annotations

from typing import Any, Protocol

import httptools

from api.http.server import rejection
from api.http.server.body_sink import BodySink
from api.http.server.connections import Connections
from api.http.server.limits import KEYLESS_BODY_BYTES, MAX_HEADER_FIELDS, MAX_TARGET_BYTES, Limits
from api.http.server.rejection import RequestRejected
from api.http.server.request import HttpRequest

SLICE_BYTES = 4096
"""Bytes that are parsed at a time: what one slice holds of further requests waits in memory as objects."""

CHUNK_OVERHEAD = 8
"""Bytes of chunk sizes and trailers for each byte of a body that are accepted, above `max_head_bytes`."""

VERSIONS = ("1.1", "1.0")

FORBIDDEN_TRAILERS = frozenset(
    b"authorization connection content-encoding content-length content-range content-type cookie expect"
    b" host max-forwards te trailer transfer-encoding x-api-key x-tenant-id".split()
)
"""Fields that must not come after the body (RFC 9110, 6.5.1). Other trailers are dropped."""


class RequestReceiver(Protocol):
    """The connection whose requests are parsed."""

    connections: Connections
    limits: Limits

    @property
    def is_busy(self) -> bool:
        """Whether the next request has to wait."""
        ...

    def begin_head(self) -> None:
        """A head begins to arrive."""
        ...

    def check_key(self, request: HttpRequest) -> None:
        """Check the key of a request whose body is large. Raises `RequestRejected`."""
        ...

    def open_sink(self, request: HttpRequest) -> BodySink | None:
        """Return a sink for a body that need not be kept in memory, else None. Raises `RequestRejected`."""
        ...

    def begin_body(self, request: HttpRequest) -> None:
        """A body begins to arrive."""
        ...

    def accept(self, request: HttpRequest) -> None:
        """Answer a complete request, after those before it."""
        ...


class RequestParser:
    """Passes complete requests to `RequestReceiver.accept`, until one of them is the last.

    Its callbacks raise `RequestRejected` to stop httptools.
    """

    __slots__ = ("_parser", "_receiver", "is_at_end", "request")

    def __init__(self, receiver: RequestReceiver) -> None:
        self.request: HttpRequest | None = None
        """The request that is being received."""
        self.is_at_end = False
        """Whether the connection takes no further request."""
        self._receiver = receiver
        self._parser: Any = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> bytes:
        """Parse until the protocol is busy with a request; return the rest. Raises `RequestRejected`."""
        for start in range(0, len(data), SLICE_BYTES):
            if self._receiver.is_busy:
                return data[start:]
            if self.is_at_end:
                break
            self._feed_slice(data[start : start + SLICE_BYTES])
        return b""

    def _feed_slice(self, data: bytes) -> None:
        request = self.request
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.is_at_end = True
        except httptools.HttpParserCallbackError as error:
            if isinstance(error.__context__, RequestRejected):
                raise error.__context__ from None
            raise
        except httptools.HttpParserError:
            if not self.is_at_end:
                raise rejection.bad_request("this is not a valid HTTP request") from None
        if self.request is not None:
            # a request that began amid this slice counts from the next one on: the limit is exact to a slice
            self.request.received += len(data) if self.request is request else 1
            if not self.request.head_complete:
                self.request.head_bytes = self.request.received
            self._check_overhead(self.request)

    def on_message_begin(self) -> None:
        """A head begins."""
        if self.is_at_end:
            raise rejection.bad_request("there is data after the last request")
        self.request = HttpRequest()
        self._receiver.begin_head()

    def on_url(self, url: bytes) -> None:
        """A part of the request's target."""
        assert self.request is not None  # noqa: S101 - from on_message_begin to on_message_complete
        self.request.target += url
        if len(self.request.target) > MAX_TARGET_BYTES:
            raise rejection.target_too_long(MAX_TARGET_BYTES)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of the head, or one that follows the body."""
        request = self.request
        assert request is not None  # noqa: S101
        request.field_count += 1
        if request.field_count > MAX_HEADER_FIELDS:
            raise rejection.head_too_large()
        if request.head_complete:
            if name.lower() in FORBIDDEN_TRAILERS:
                raise rejection.bad_request("this field is not allowed after the body")
        elif not request.add_field(name, value):
            raise rejection.bad_request("this header field must not appear twice")

    def on_headers_complete(self) -> None:
        """Check the head before any of the body is read."""
        request, parser = self.request, self._parser
        assert request is not None  # noqa: S101
        version = parser.get_http_version()
        if version not in VERSIONS:
            raise rejection.bad_request("the HTTP version must be 1.0 or 1.1")
        limit = self._receiver.limits.max_head_bytes
        if request.received and len(request.target) + sum(map(len, request.wsgi.values())) > limit:
            raise rejection.head_too_large()
        request.head_complete = True
        request.head_bytes, request.received = request.received, 0
        request.is_http_1_1 = version == "1.1"
        request.keep_alive = request.is_http_1_1 and parser.should_keep_alive()
        request.method = parser.get_method().decode("ascii")
        fields = request.wsgi
        fields["SERVER_PROTOCOL"] = f"HTTP/{version}"
        if not request.set_target():
            raise rejection.bad_request("the request target is not a path")
        if request.is_http_1_1 and "HTTP_HOST" not in fields:
            raise rejection.bad_request("an HTTP/1.1 request needs a Host field")
        if fields.get("HTTP_TRANSFER_ENCODING", "chunked").lower() != "chunked":
            raise rejection.bad_request("the only supported transfer encoding is chunked")
        length = int(fields.get("CONTENT_LENGTH", 0))  # the parser has checked its digits
        if length or "HTTP_TRANSFER_ENCODING" in fields:
            request.sink = self._receiver.open_sink(request)
            if request.sink is None:
                self._check_size(request, length)
            self._receiver.begin_body(request)

    def on_body(self, data: bytes) -> None:
        """A part of the body."""
        request = self.request
        assert request is not None  # noqa: S101
        if request.sink is not None:
            request.size += len(data)
            if request.size > request.sink.max_bytes:
                raise rejection.body_too_large(request.sink.max_bytes)
            request.sink.write(data)
            return
        self._check_size(request, request.size + len(data))
        request.add_body(data)
        self._receiver.connections.body_bytes += len(data)

    def on_message_complete(self) -> None:
        """The request is complete."""
        request, self.request = self.request, None
        assert request is not None  # noqa: S101
        if self._parser.should_upgrade():
            request.keep_alive = False  # no protocol that the client proposes is spoken here
        if request.sink is not None:
            request.sink.end()
        self.is_at_end = not request.keep_alive
        self._receiver.accept(request)

    def _check_overhead(self, request: HttpRequest) -> None:
        """Raise `RequestRejected` if what arrived is too much for a head, or for the framing of a body."""
        limit = self._receiver.limits.max_head_bytes
        if not request.head_complete and request.received > limit:
            raise rejection.head_too_large()
        if request.received > limit + (1 + CHUNK_OVERHEAD) * request.size:
            raise rejection.bad_request("the body's chunks are too small")

    def _check_size(self, request: HttpRequest, size: int) -> None:
        """Raise `RequestRejected` if the body must not have `size` bytes."""
        limits, connections = self._receiver.limits, self._receiver.connections
        if size > limits.max_body_bytes:
            raise rejection.body_too_large(limits.max_body_bytes)
        is_crowded = connections.body_bytes > limits.max_pending_body_bytes // 2
        if (is_crowded or size > KEYLESS_BODY_BYTES) and not request.has_key:
            self._receiver.check_key(request)
            request.has_key = True
        if connections.body_bytes - request.size + size > limits.max_pending_body_bytes:
            raise rejection.busy("the server is receiving too many large bodies")
