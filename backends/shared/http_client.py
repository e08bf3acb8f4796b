"""HTTP client for one server, on the event loop that its requests run on. Connections and TLS are aiohttp's.

A request that is left early, because its task was cancelled or for any other error, cuts its connection at
once, whatever phase it is in: the server must notice, and nothing may be left of a request that nobody waits
for. (aiohttp itself would first send the rest of the body.)
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from yarl import URL

LOOPBACK = "127.0.0.1"
IDLE_S = 20.0  # servers and the middleboxes before them close idle connections, some without a FIN
BODY_END_S = 0.5  # how long the end of a body may follow its last event
READ_BYTES = 1 << 16
LONGEST_HEADER = 1 << 16  # bytes
STALE = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionError)
"""Errors of a pooled connection whose other end is already closed."""


class HttpError(Exception):
    """Raised when a request finds no connection, or loses it; `cause` is the error of the lowest layer."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.cause = cause


class ReadTimeout(HttpError):
    """Raised when the server neither took nor sent anything for too long."""


class _Exchange:
    """One request, from the search for a connection to the end of the response."""

    def __init__(self, read_timeout_s: float | None) -> None:
        self.new_connection = False
        """Whether the latest attempt has opened a connection, or tried to."""
        self.timeout = asyncio.timeout(None)
        self.transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._read_timeout_s = read_timeout_s
        self._noted = 0.0

    def note_activity(self) -> None:
        """Begin the read timeout anew; it may be a tenth shorter, since not each piece moves the timer."""
        if self._read_timeout_s is None:
            return
        now = self._loop.time()
        if now - self._noted > self._read_timeout_s / 10 and not self.timeout.expired():
            self._noted = now
            self.timeout.reschedule(now + self._read_timeout_s)

    def set_read_timeout(self, seconds: float) -> None:
        """Set how long the server may be silent from now on."""
        self._read_timeout_s = seconds
        self._noted = self._loop.time()
        self.timeout.reschedule(self._noted + seconds)

    async def pieces(self, body: bytes) -> AsyncIterator[bytes]:
        """Yield a body in pieces, each when the server has taken those before it."""
        for start in range(0, len(body), READ_BYTES):
            yield body[start : start + READ_BYTES]
            self.note_activity()


_current: ContextVar[_Exchange] = ContextVar("current_exchange")
"""The exchange of the current task. The connector reads it, since aiohttp picks and makes the connections."""


class _Connector(aiohttp.TCPConnector):
    """Tells each exchange the connection that it uses."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """Take an idle connection or make a new one."""
        exchange = _current.get()
        exchange.new_connection = False
        connection = await super().connect(req, traces, timeout)
        exchange.transport = connection.transport
        exchange.note_activity()
        return connection

    async def _create_connection(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        _current.get().new_connection = True
        return await super()._create_connection(req, traces, timeout)


class HttpResponse:
    """A response whose headers have arrived."""

    def __init__(self, exchange: _Exchange, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._exchange = exchange
        self._response = response
        self._content = response.content

    async def read_some(self) -> bytes:
        """Wait for the next piece of the body and return all of it that is there; empty at the body's end.

        Raises `HttpError`.
        """
        try:
            piece = await self._content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise _failed(error) from error
        self._exchange.note_activity()
        return piece

    async def read(self, limit: int) -> bytes:
        """Return the body, at most `limit` bytes of it. Raises `HttpError`."""
        body = b""
        while len(body) < limit and (piece := await self.read_some()):
            body += piece
        return body[:limit]

    async def finish(self) -> None:
        """Let the connection serve another request if the body ends at once, as it should."""
        if self._content.at_eof():
            return
        with suppress(HttpError, TimeoutError):
            async with asyncio.timeout(BODY_END_S):
                await self.read_some()
                await self.read_some()

    def set_read_timeout(self, seconds: float) -> None:
        """Set how long the server may be silent from now on."""
        self._exchange.set_read_timeout(seconds)

    def close(self) -> None:
        """Cut the connection, unless the body was read to its end."""
        if self._response.connection is not None and self._exchange.transport is not None:
            self._exchange.transport.abort()
        self._response.close()


class HttpClient:
    """Sends requests to one server, all on one event loop. Redirects are not followed.

    `url` is the base of every path; `tls` is for https. `proxy_url` (`http://host:port`) names a proxy, and
    `proxy_headers` are sent to that proxy alone.
    """

    def __init__(  # noqa: PLR0913 - each describes the connection
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        connect_timeout_s: float,
        proxy_url: str | None = None,
        proxy_headers: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._base = str(URL(url))
        self._headers = {"accept-encoding": "identity", **(headers or {})}
        self._connect_timeout_s = connect_timeout_s
        self._tls = tls
        self._proxy: dict[str, Any] = {}
        if proxy_url is not None:
            self._proxy = {"proxy": URL(proxy_url)}
            if tls is not None:  # the proxy only passes on encrypted bytes, after a request of its own
                self._proxy["proxy_headers"] = dict(proxy_headers or {})
            else:
                self._headers.update(proxy_headers or {})
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Task[None] | None = None  # the loop itself keeps no reference
        self._closed = False

    @asynccontextmanager
    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        read_timeout_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[HttpResponse]:
        """Send a request (a `body` is JSON), and yield the response once its headers have arrived.

        `read_timeout_s` is how long the server may take or send nothing; None waits forever. A pooled
        connection that turns out to be closed is replaced at once. Raises `HttpError`.
        """
        exchange = _Exchange(read_timeout_s)
        try:
            async with exchange.timeout:
                response = await self._send(exchange, method, path, body, headers or {})
                try:
                    yield response
                finally:
                    response.close()
        except TimeoutError as error:
            if not exchange.timeout.expired():
                raise
            raise ReadTimeout(error) from error

    def close(self) -> None:
        """Close all connections; may be called from any thread. Later requests fail."""
        self._closed = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._close_session)

    def _close_session(self) -> None:
        if self._session is not None and self._closing is None:
            self._closing = asyncio.ensure_future(self._session.close())

    async def _send(
        self, exchange: _Exchange, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> HttpResponse:
        url = URL(self._base + path, encoded=True)
        all_headers = {**self._headers, **headers}
        if body is not None:
            all_headers |= {"content-type": "application/json", "content-length": str(len(body))}
        token = _current.set(exchange)
        try:
            while True:
                session = self._open_session()
                data = exchange.pieces(body) if body is not None and len(body) > READ_BYTES else body
                try:
                    response = await session.request(
                        method, url, data=data, headers=all_headers, allow_redirects=False, **self._proxy
                    )
                except STALE:
                    if exchange.new_connection:
                        raise
                else:
                    return HttpResponse(exchange, response)
        except aiohttp.ConnectionTimeoutError as error:
            raise HttpError(ConnectionError(f"no connection within {self._connect_timeout_s:g} s")) from error
        except (aiohttp.ClientError, OSError) as error:
            raise _failed(error) from error
        except BaseException:  # cancelled
            if exchange.transport is not None:
                exchange.transport.abort()
            raise
        finally:
            _current.reset(token)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise HttpError(ConnectionError("the client is closed"))
        if self._session is None:
            self._loop = asyncio.get_running_loop()
            connector = _Connector(
                limit=0, keepalive_timeout=IDLE_S, ssl=self._tls or True, socket_factory=_new_socket
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None, connect=self._connect_timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("User-Agent",),
                max_line_size=LONGEST_HEADER,
                max_field_size=LONGEST_HEADER,
            )
        return self._session


def _new_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, *_ = address
    new = socket.socket(family, kind, protocol)
    new.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return new


def _failed(error: BaseException) -> HttpError:
    """Return the error with the operating system's or TLS' error that aiohttp has wrapped."""
    while isinstance(error.__cause__, OSError | aiohttp.ClientError):
        error = error.__cause__
    return HttpError(error)
