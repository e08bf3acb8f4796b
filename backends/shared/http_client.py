"""HTTP client for one server, whose requests any thread may cancel at any moment.

The connection pool, the proxies and TLS are urllib3's. urllib3 itself can only cancel the reading of a body
(`HTTPResponse.shutdown`, which over TLS also removes the TLS layer that the reading thread uses). Here a
request must also end while it connects, while its body is sent and while the server has not answered yet. So
each connection knows the `HttpCall` that uses it: a cancelled call shuts down the connection's socket, and
does not wait any longer for the thread that connects (looks up the host name, does the TLS handshake).
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from contextvars import ContextVar
from queue import LifoQueue
from typing import Any

from urllib3 import (
    BaseHTTPResponse,
    HTTPConnectionPool,
    HTTPSConnectionPool,
    PoolManager,
    ProxyManager,
    Timeout,
)
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

LOOPBACK = "127.0.0.1"
IDLE_S = 20.0  # servers and the middleboxes before them close idle connections, some without a FIN
BODY_END_S, BODY_END_READS = 0.5, 4  # how long the end of a body may follow its last event
READ_BYTES = 1 << 16
STALE = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""Errors of a pooled connection whose other end is already closed."""


class CallCancelled(Exception):
    """Raised in the thread that runs a call after another thread has cancelled it."""


class HttpCall:
    """One request under way, with its repetitions. `cancel` may be called from any thread.

    `read_timeout_s` is how long the server may be silent; None waits forever.
    """

    def __init__(self, read_timeout_s: float | None = None) -> None:
        self.read_timeout_s = read_timeout_s
        self.reuse_connection = False
        """Whether the connection may serve another request once the body has been read to its end."""
        self.new_connection = False
        """Whether the latest request has opened a connection, or tried to."""
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._connecting: Future[None] | None = None
        self._socket: socket.socket | None = None

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Raise `CallCancelled` after `cancel`."""
        if self._cancelled.is_set():
            raise CallCancelled

    def cancel(self) -> None:
        """End the call: its thread stops waiting at once, and the server sees the connection close."""
        with self._lock:
            self._cancelled.set()
            if self._connecting is not None:
                self._connecting.cancel()
            if self._socket is not None:
                with suppress(OSError):
                    # not SSLSocket.shutdown, which removes the TLS layer that the reading thread uses
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def wait(self, seconds: float) -> None:
        """Wait before the next attempt. Raises `CallCancelled`."""
        self._cancelled.wait(seconds)
        self.check()

    def set_read_timeout(self, seconds: float) -> None:
        """Set how long the connection in use may be silent from now on."""
        with self._lock:
            if self._socket is not None:
                with suppress(OSError):  # closed by now
                    self._socket.settimeout(seconds)

    def connect(self, connect: Callable[[], None], close: Callable[[], None]) -> None:
        """Run `connect` in a new thread and wait for it; a connection made after `cancel` is closed.

        Nothing can interrupt the look-up of a host name. Raises what `connect` raises, or `CallCancelled`.
        """
        done: Future[None] = Future()
        with self._lock:
            self.check()
            self._connecting = done
        threading.Thread(target=_connect, args=(done, connect, close), name="connect", daemon=True).start()
        try:
            done.result()
        except CancelledError:
            raise CallCancelled from None

    def attach(self, connection: socket.socket) -> None:
        """Use a connection: from now on `cancel` shuts it down. Raises `CallCancelled`."""
        with self._lock:
            self._socket = connection
            self.check()

    def detach(self) -> None:
        """Stop using the connection, which may serve another call: `cancel` no longer touches it."""
        with self._lock:
            self._socket = None


_current_call: ContextVar[HttpCall] = ContextVar("current_call")
"""The call that the current thread runs. Connections read it, since urllib3 makes and picks them."""


class HttpClient:
    """Sends requests to one server, from any number of threads. Redirects are not followed.

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
        self._headers = dict(headers or {})
        self._connect_timeout_s = connect_timeout_s
        options: dict[str, Any] = {
            "socket_options": [
                *HTTPConnection.default_socket_options,
                (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            ]
        }
        if tls is not None:
            options["ssl_context"] = tls
        pools = (
            PoolManager(**options)
            if proxy_url is None
            else ProxyManager(proxy_url, proxy_headers=proxy_headers, **options)
        )
        pools.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
        self._pool = pools.connection_from_url(url)
        # a proxy needs the whole URL; for https it only passes on encrypted bytes
        self._base = url if proxy_url is not None and tls is None else parse_url(url).path or ""

    def request(
        self,
        call: HttpCall,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> BaseHTTPResponse:
        """Send a request (a `body` is JSON) and return the response once its headers have arrived.

        The caller reads the body with `chunks` or `read1`, and closes the response or passes it to `finish`.
        A pooled connection that turns out to be closed is replaced at once. Raises `HTTPError` (see
        `root_cause`) or `CallCancelled`.
        """
        content = {} if body is None else {"content-type": "application/json"}
        all_headers = {**self._headers, **(headers or {}), **content}
        context = _current_call.set(call)
        try:
            while True:
                call.new_connection = False
                try:
                    return self._pool.urlopen(
                        method,
                        self._base + path,
                        redirect=False,
                        assert_same_host=False,
                        body=body,
                        headers=all_headers,
                        retries=False,
                        timeout=Timeout(connect=self._connect_timeout_s, read=call.read_timeout_s),
                        preload_content=False,
                        decode_content=False,
                        enforce_content_length=False,
                    )
                except HTTPError as error:
                    call.check()
                    if call.new_connection or not isinstance(root_cause(error), STALE):
                        raise
        finally:
            _current_call.reset(context)

    def finish(self, call: HttpCall, response: BaseHTTPResponse) -> None:
        """Return the connection of a response whose last event was read to the pool.

        The connection is closed instead if the body does not end at once, as it should.
        """
        connection = response.connection
        if connection is not None and not connection.is_closed:  # closed: it serves this response only
            call.set_read_timeout(BODY_END_S)
            with suppress(HTTPError):
                for _ in range(BODY_END_READS):
                    if response.closed:
                        return
                    response.read1(READ_BYTES)
        response.close()

    def close(self) -> None:
        """Close the idle connections; those in use are closed after their response."""
        self._pool.close()


def chunks(response: BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the pieces of a body as they arrive. Raises `HTTPError`."""
    return iter(lambda: response.read1(READ_BYTES), b"")


def root_cause(error: BaseException) -> BaseException:
    """Return the error of the operating system, of TLS or of `http.client` that urllib3 has wrapped."""
    while isinstance(error, HTTPError):
        wrapped = next((part for part in error.args if isinstance(part, Exception)), error.__cause__)
        if wrapped is None:
            break
        error = wrapped
    return error


class _Connection(HTTPConnection):
    """A connection that the call using it can cut."""

    _call: HttpCall | None = None
    _idle_since = 0.0

    def connect(self) -> None:
        """Connect as long as the call is not cancelled. Raises `ConnectionError` after the time-out.

        urllib3 would report a TLS handshake that takes too long as a read time-out.
        """
        call, timeout_s = _current_call.get(), self.timeout
        call.new_connection = True
        try:
            if self.host == LOOPBACK and not isinstance(self, HTTPSConnection):
                super().connect()  # it takes no time, and a thread would
            else:
                call.connect(super().connect, self.close)
        except (OSError, HTTPError) as error:
            if isinstance(root_cause(error), TimeoutError):
                raise ConnectionError(f"no connection within {timeout_s:g} s") from error
            raise

    def request(self, *args: Any, **options: Any) -> None:
        """Send a request for the current call."""
        self._call = call = _current_call.get()
        if self.is_closed:
            self.connect()
        call.attach(self.sock)
        self.timeout = call.read_timeout_s  # urllib3 sends the body under the connect time-out
        super().request(*args, **options)

    @property
    def is_connected(self) -> bool:
        """Whether an idle connection may serve another request."""
        return time.monotonic() - self._idle_since < IDLE_S and super().is_connected

    def become_idle(self) -> None:
        """Leave the call, whose response has been read, and close unless another call may follow."""
        call, self._call = self._call, None
        if call is not None:
            call.detach()
        if call is None or not call.reuse_connection:
            self.close()
        self._idle_since = time.monotonic()

    def close_if_expired(self) -> None:
        """Close a connection that has been idle for too long."""
        if time.monotonic() - self._idle_since >= IDLE_S:
            self.close()


class _TlsConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _IdleConnections(LifoQueue["_Connection"]):
    """The idle connections of a pool, the one used last on top.

    Unbounded: the slots of the engine bound the number of connections. urllib3 also puts closed connections
    and None (for one that failed); they are left out, since it opens a new one when the queue is empty.
    """

    def __init__(self, _maxsize: int) -> None:
        super().__init__()

    def _put(self, item: _Connection | None) -> None:
        for idle in self.queue:
            idle.close_if_expired()
        if item is not None:
            item.become_idle()
            self.queue.append(item)
        self.queue = [idle for idle in self.queue if not idle.is_closed]


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection
    QueueCls = _IdleConnections  # type: ignore[assignment]  # declared without its type parameter


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection
    QueueCls = _IdleConnections  # type: ignore[assignment]  # declared without its type parameter


def _connect(done: Future[None], connect: Callable[[], None], close: Callable[[], None]) -> None:
    """Connect, and pass the outcome to the call, or close the connection if the call was cancelled."""
    try:
        try:
            connect()
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(None)
    except InvalidStateError:
        close()
