"""A server elsewhere: how it is reached, and the connections to it that are kept for the next request.

Kept, since a TLS handshake costs two or three times the way there and back. Certificates are checked against
the system's authorities, or those that SSL_CERT_FILE names. Proxies are those of the environment
(HTTPS_PROXY, HTTP_PROXY, NO_PROXY); nothing on this machine is reached through one.
"""

from __future__ import annotations

import base64
import select
import socket
import ssl
import threading
import time
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import orjson

from backends.base import LoadError
from backends.openai_remote.connection import RemoteOptions
from backends.shared.call import Call

LOOPBACK = ("localhost", "127.0.0.1", "::1")
IDLE_S = 20.0  # servers and what stands between close what is idle, some without a word
ENDING_S, ENDING_READS = 0.5, 4  # what the end of a body may take after its last event
LONGEST_BODY = 1 << 20  # of an answer that should have been a stream
LONGEST_LIST = 1 << 24
STALE = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""How a connection that was kept shows that its other end is closed already."""


class RemoteServer:
    """One server, for any number of threads."""

    def __init__(self, options: RemoteOptions) -> None:
        """Raises `LoadError` where the environment names a proxy that is none."""
        self._options = options
        self._proxy = _proxy(options)
        self._tls = ssl.create_default_context() if options.scheme == "https" else None
        configured = {name.lower(): text for name, text in options.headers.items()}
        self._headers = {"user-agent": "stoker", **_authorization(options), **configured}
        self._base = options.path
        if self._proxy is not None and self._tls is None:
            self._base = f"http://{options.place}{options.path}"
            self._headers |= _credentials(self._proxy)
        self._idle: list[tuple[float, HTTPConnection]] = []
        self._lock = threading.Lock()
        self._closed = False

    def connect(self) -> HTTPConnection:
        """A new connection. Raises `OSError`, or `HTTPException` from a proxy."""
        options, proxy = self._options, self._proxy
        host, port = (
            (options.host, options.port) if proxy is None else (str(proxy.hostname), proxy.port or 80)
        )
        if self._tls is None:
            connection = HTTPConnection(host, port, timeout=options.connect_timeout_s)
        else:
            connection = HTTPSConnection(host, port, timeout=options.connect_timeout_s, context=self._tls)
            if proxy is not None:
                connection.set_tunnel(options.host, options.port, _credentials(proxy))
        try:
            connection.connect()
        except TimeoutError as error:  # from here on one means that the server is silent
            connection.close()
            raise ConnectionError(f"no connection within {options.connect_timeout_s:g} s") from error
        except BaseException:
            connection.close()
            raise
        connection.auto_open = 0  # one that was cut stays cut
        connection.sock.settimeout(options.read_timeout_s)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection

    def post(self, call: Call, path: str, body: bytes) -> tuple[HTTPConnection, HTTPResponse]:
        """Send a body and wait for the answer's head.

        The connection is the caller's: to be given back after the answer's last event, else closed. Raises
        `OSError` or `HTTPException`; a `TimeoutError` means that the server is silent.
        """
        while (kept := self._take()) is not None:
            try:
                return kept, self._send(call, kept, "POST", path, body)
            except STALE:
                if call.cancelled:
                    raise
        new = call.beside(self.connect, drop=HTTPConnection.close)
        return new, self._send(call, new, "POST", path, body)

    def get(self, call: Call, path: str) -> tuple[int, Message, Any]:
        """The status, headers and JSON of an answer; None for a body that is no JSON. Raises as `post`."""
        connection = self.connect()
        try:
            response = self._send(call, connection, "GET", path)
            body = response.read(LONGEST_LIST)
        finally:
            connection.close()
        try:
            return response.status, response.headers, orjson.loads(body)
        except orjson.JSONDecodeError:
            return response.status, response.headers, None

    def give_back(self, call: Call, connection: HTTPConnection, response: HTTPResponse) -> None:
        """Keep a connection for the next call, if its answer ends here; else close it."""
        try:
            if self._ends(connection, response):
                call.detach()
                connection.sock.settimeout(self._options.read_timeout_s)
                if self._keep(connection):
                    return
        except (OSError, HTTPException):
            pass
        connection.close()

    def close(self) -> None:
        """Close what is kept, and keep nothing more."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def _ends(self, connection: HTTPConnection, response: HTTPResponse) -> bool:
        """Whether the end of an answer comes at once, as it should."""
        if not response.will_close:
            connection.sock.settimeout(ENDING_S)
            for _ in range(ENDING_READS):
                if response.isclosed():
                    return True
                response.read1(LONGEST_BODY)
        return False

    def _keep(self, connection: HTTPConnection) -> bool:
        """Keep one, and none that was not used for long; False when nothing is kept any more."""
        now = time.monotonic()
        with self._lock:
            old = [kept for since, kept in self._idle if now - since >= IDLE_S]
            self._idle = [(since, kept) for since, kept in self._idle if now - since < IDLE_S]
            if not self._closed:
                self._idle.append((now, connection))
        for kept in old:
            kept.close()
        return not self._closed

    def _take(self) -> HTTPConnection | None:
        """The connection that was used last, if it is still good."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                since, connection = self._idle.pop()
            if time.monotonic() - since < IDLE_S and not _has_news(connection.sock):
                return connection
            connection.close()

    def _send(
        self, call: Call, connection: HTTPConnection, method: str, path: str, body: bytes | None = None
    ) -> HTTPResponse:
        headers = self._headers if body is None else {**self._headers, "content-type": "application/json"}
        try:
            call.attach(connection.sock)
            connection.request(method, self._base + path, body, headers)
            return connection.getresponse()
        except BaseException:
            connection.close()
            raise


def _has_news(connection: socket.socket) -> bool:
    """Whether something can be read where nothing is due: its end, most likely."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def _authorization(options: RemoteOptions) -> dict[str, str]:
    return {} if options.key is None else {"authorization": f"Bearer {options.key}"}


def _proxy(options: RemoteOptions) -> SplitResult | None:
    """The proxy that leads there, if one does. Nothing of it is repeated: it may hold a password."""
    proxies = getproxies_environment()
    url = proxies.get(options.scheme) or proxies.get("all")
    if not url or options.host in LOOPBACK or proxy_bypass(options.place):
        return None
    try:
        proxy = urlsplit(url if "://" in url else f"http://{url}")
        usable = proxy.scheme == "http" and proxy.hostname and proxy.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise LoadError(
            "load_failed",
            f"the proxy that the environment names for {options.scheme} must look like http://host:port:"
            f" correct it, or add {options.host} to NO_PROXY",
        )
    return proxy


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}
