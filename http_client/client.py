"""HTTP client for one server, on the event loop that its requests run on; it keeps idle connections.

A request that is left early, because its task was cancelled or for any other error, cuts its connection at
once, whatever phase it is in: the server must notice, and nothing may be left of a request that nobody waits
for.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType

from http_client.connection import HttpConnection, HttpError, ReadTimeout
from http_client.connector import Connector, Resolve, head
from http_client.url import HttpUrl

__all__ = ["LOOPBACK", "HttpClient", "HttpError", "HttpResponse", "ReadTimeout"]

LOOPBACK = "127.0.0.1"
IDLE_S = 20.0  # servers and the middleboxes before them close idle connections, some without a FIN
BODY_END_S = 0.5  # how long the end of a body may follow its last event


class HttpResponse:
    """A response whose headers have arrived; `headers` has lower-case names."""

    def __init__(self, connection: HttpConnection) -> None:
        self.status = connection.status
        self.headers = connection.headers
        self.read_some = connection.read_some
        """Waits for the next piece of the body; empty at its end. Raises `HttpError`."""
        self.set_read_timeout = connection.set_read_timeout
        """Sets how long the server may be silent from now on, in seconds; None: no limit."""
        self._connection = connection

    async def read(self, limit: int) -> bytes:
        """Return the body, at most `limit` bytes of it. Raises `HttpError`."""
        body = b""
        while len(body) < limit and (piece := await self.read_some()):
            body += piece
        return body[:limit]

    async def finish(self) -> None:
        """Let the connection serve another request if the body ends at once, as it should."""
        if self._connection.is_complete:
            return
        with suppress(HttpError, TimeoutError):
            async with asyncio.timeout(BODY_END_S):
                await self.read_some()
                await self.read_some()


class HttpClient:
    """Sends requests to one server, all on one event loop. Redirects are not followed.

    `url` is the base of every path; `tls` is for https. `proxy_url` (`http://host:port`) names a proxy, and
    `proxy_headers` are sent to that proxy alone. `resolve` finds the addresses for each new connection;
    it may leave some out, or raise `OSError`.
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
        resolve: Resolve | None = None,
    ) -> None:
        server = HttpUrl.parse(url)
        proxy = None if proxy_url is None else HttpUrl.parse(proxy_url)
        host = server.authority
        self._headers = {"host": host, "accept": "*/*", "accept-encoding": "identity", **(headers or {})}
        self._base = "" if server.path == "/" else server.path
        if proxy is not None and tls is None:  # the proxy passes on the requests themselves
            self._base = f"{server.scheme}://{host}{self._base}"
            self._headers.update(proxy_headers or {})
        self._connector = Connector(
            server,
            connect_timeout_s,
            tls=tls,
            proxy=proxy,
            proxy_headers=proxy_headers or {},
            resolve=resolve,
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: deque[tuple[HttpConnection, float]] = deque()
        """Connections without a request, and since when (the loop's clock), the latest last."""
        self._busy: set[HttpConnection] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        read_timeout_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> _Request:
        """Send a request, and yield the response once its headers have arrived.

        For `async with`. A `body` is JSON unless `headers` name another content type. `read_timeout_s` is how
        long the server may take or send nothing; None waits forever. A pooled connection that turns out to be
        closed is replaced at once. Raises `HttpError`.
        """
        all_headers = {**self._headers, **headers} if headers else dict(self._headers)
        if body is not None:
            all_headers["content-type"] = (headers or {}).get("content-type", "application/json")
            all_headers["content-length"] = str(len(body))
        request = head(f"{method} {f'{self._base}{path}' or '/'}", all_headers)
        return _Request(self, request, body or b"", read_timeout_s)

    def close(self) -> None:
        """Close all connections; may be called from any thread. Later requests fail."""
        self._closed = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._close_all)

    async def take(self, *, new: bool) -> tuple[HttpConnection, bool]:
        """Return a connection for a request, and whether it has served another. Raises `HttpError`.

        `new` asks for one that has not.
        """
        if self._closed:
            raise HttpError(ConnectionError("the client is closed"))
        loop = self._loop = asyncio.get_running_loop()
        while self._idle and not new:
            connection, since = self._idle.pop()
            if not connection.is_closed and loop.time() - since < IDLE_S:
                self._busy.add(connection)
                return connection, True
            connection.abort()
        connection = await self._connector.connect()
        if self._closed:
            connection.abort()
            raise HttpError(ConnectionError("the client is closed"))
        self._busy.add(connection)
        return connection, False

    def give_back(self, connection: HttpConnection) -> None:
        """End a connection's request, and keep the connection if it can serve another."""
        connection.end()
        self._busy.discard(connection)
        if not connection.can_be_reused:
            return
        loop = asyncio.get_running_loop()
        self._idle.append((connection, loop.time()))
        if self._sweep is None:
            self._sweep = loop.call_later(IDLE_S, self._close_idle)

    def _close_idle(self) -> None:
        self._sweep = None
        loop = asyncio.get_running_loop()
        while self._idle:
            connection, since = self._idle[0]
            left_s = since + IDLE_S - loop.time()
            if left_s > 0 and not connection.is_closed:
                self._sweep = loop.call_later(left_s, self._close_idle)
                return
            self._idle.popleft()
            connection.abort()

    def _close_all(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in [*self._busy, *(connection for connection, _ in self._idle)]:
            connection.abort()
        self._idle.clear()


class _Request:
    """One request, for `async with`."""

    __slots__ = ("_body", "_client", "_connection", "_head", "_read_timeout_s")

    def __init__(self, client: HttpClient, head: bytes, body: bytes, read_timeout_s: float | None) -> None:
        self._client = client
        self._head = head
        self._body = body
        self._read_timeout_s = read_timeout_s
        self._connection: HttpConnection

    async def __aenter__(self) -> HttpResponse:
        is_stale = False
        while True:
            connection, is_used = await self._client.take(new=is_stale)
            try:
                connection.begin(self._read_timeout_s)
                await connection.send(self._head, self._body)
                await connection.read_head()
            except BaseException as error:
                connection.abort()
                self._client.give_back(connection)
                # the server had closed it, and has not seen this request
                is_stale = is_used and not connection.has_received
                if is_stale and isinstance(error, HttpError) and not isinstance(error, ReadTimeout):
                    continue
                raise
            self._connection = connection
            return HttpResponse(connection)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._client.give_back(self._connection)
