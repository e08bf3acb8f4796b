"""Opens the connections of an `HttpClient`: directly or through a proxy, with or without TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohappyeyeballs

from http_client.connection import HttpConnection, HttpError
from http_client.url import HttpUrl, bracketed

Resolve = Callable[[str, int], Awaitable[list[Any]]]
"""Returns the addresses of a host and a port, as `socket.getaddrinfo` does. Raises `OSError`."""

NEXT_ADDRESS_S = 0.25
"""The time after which the next address of a host is tried beside the one before (RFC 8305, 8)."""


class ProxyRefused(Exception):
    """The cause of an `HttpError` where the proxy opens no tunnel."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"the proxy answered {status} {reason}")
        self.status = status
        self.reason = reason


class Connector:
    """Connects to one server, within `timeout_s` each time.

    With `tls` the `proxy` opens a tunnel, in the request for which it receives `proxy_headers`; without, the
    client sends it the requests themselves. `resolve` replaces the resolver of the system.
    """

    def __init__(  # noqa: PLR0913 - each describes the connection
        self,
        server: HttpUrl,
        timeout_s: float,
        *,
        tls: ssl.SSLContext | None,
        proxy: HttpUrl | None,
        proxy_headers: Mapping[str, str],
        resolve: Resolve | None,
    ) -> None:
        self._server = server
        self._timeout_s = timeout_s
        self._tls = tls
        self._proxy = proxy
        self._proxy_headers = proxy_headers
        self._resolve = resolve

    async def connect(self) -> HttpConnection:
        """Return a new connection. Raises `HttpError`."""
        timeout = asyncio.timeout(self._timeout_s)
        try:
            async with timeout:
                return await self._open()
        except OSError as error:  # of the network, of TLS, or the time-out
            if timeout.expired():
                raise HttpError(ConnectionError(f"no connection within {self._timeout_s:g} s")) from error
            raise HttpError(error) from error

    async def _open(self) -> HttpConnection:
        loop = asyncio.get_running_loop()
        next_hop = self._proxy or self._server
        addresses = await (self._resolve or resolve_host)(next_hop.host, next_hop.port)
        connected = await _connected_socket(addresses)
        connection = HttpConnection(loop)
        # TLS begins afterwards: a cancelled handshake would leave a transport with a socket that is closed
        transport, _ = await loop.create_connection(lambda: connection, sock=connected)
        if self._tls is not None:
            try:
                if self._proxy is not None:
                    await self._open_tunnel(connection)
                await self._begin_tls(connection, self._tls)
            except BaseException:
                transport.abort()
                raise
        return connection

    async def _begin_tls(self, connection: HttpConnection, tls: ssl.SSLContext) -> None:
        encrypted = await asyncio.get_running_loop().start_tls(
            connection.transport, connection, tls, server_hostname=self._server.server_name
        )
        if encrypted is None:
            raise ConnectionError("it closed the connection")
        connection.transport = encrypted

    async def _open_tunnel(self, connection: HttpConnection) -> None:
        target = f"{bracketed(self._server.server_name)}:{self._server.port}"
        connection.begin(None)
        await connection.send(head(f"CONNECT {target}", {"host": target, **self._proxy_headers}), b"")
        await connection.read_head()
        if connection.status != 200:
            raise HttpError(ProxyRefused(connection.status, connection.reason))
        if connection.has_unread:  # it would become part of the first answer
            raise HttpError(ConnectionError("the proxy sent more than its answer"))
        connection.is_complete = True


def head(request: str, headers: Mapping[str, str]) -> bytes:
    """Return the head of a request (`POST /path`). Raises `HttpError` for a field with a line break."""
    lines = [f"{request} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()]]
    for line in lines:
        if "\r" in line or "\n" in line or "\0" in line:
            raise HttpError(ValueError(f"the line {line[:40]!r} of a request has a line break"))
    return "\r\n".join([*lines, "\r\n"]).encode()


async def _connected_socket(addresses: list[Any]) -> socket.socket:
    """Connect to the address that accepts first. Raises `OSError`."""
    connected: socket.socket = await aiohappyeyeballs.start_connection(
        addresses, happy_eyeballs_delay=NEXT_ADDRESS_S, interleave=1, loop=asyncio.get_running_loop()
    )
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connected


async def resolve_host(host: str, port: int) -> list[Any]:
    """Return the addresses of a host. Raises `OSError`."""
    return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
