"""The reference: a bare Flask -> HTTP proxy. `python -m benchmarks.proxy PORT UPSTREAM_PORT THREADS CLIENT`.

It runs under gunicorn (gthread, one process, a thread for each client) and does the minimum: no API key, no
validation, no queue, no log. `http.client` with one keep-alive connection per thread is the cheapest HTTP
client in Python; `httpx` is a common one.
"""

from __future__ import annotations

import http.client
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
from flask import Flask, Response, request
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

CLIENTS = ("http.client", "httpx")
HEADERS = {"Content-Type": "application/json"}
PATHS = ("/v1/responses", "/v1/chat/completions")
READ_BYTES = 1 << 16
Forward = Callable[[str, bytes], Response]


class HttpClientForwarder:
    """Forwards through `http.client`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._local = threading.local()

    def __call__(self, path: str, body: bytes) -> Response:
        """Forward the request, and stream the response as it arrives."""
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection: http.client.HTTPConnection = self._local.connection
        connection.request("POST", path, body, HEADERS)
        response = connection.getresponse()
        kind = response.headers["Content-Type"]
        if kind == "text/event-stream":
            return Response(_stream_body(connection, response), content_type=kind)
        return Response(response.read(), content_type=kind)


def _stream_body(
    connection: http.client.HTTPConnection, response: http.client.HTTPResponse
) -> Iterator[bytes]:
    try:
        while data := response.read1(READ_BYTES):
            yield data
    finally:
        if not response.isclosed():
            connection.close()  # after an incomplete response it cannot be reused


class HttpxForwarder:
    """Forwards through `httpx`."""

    def __init__(self, port: int) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", limits=limits)

    def __call__(self, path: str, body: bytes) -> Response:
        """Forward the request, and stream the response as it arrives."""
        forwarded = self._client.build_request("POST", path, content=body, headers=HEADERS)
        response = self._client.send(forwarded, stream=True)
        kind = response.headers["Content-Type"]
        if kind == "text/event-stream":
            streamed = Response(response.iter_raw(), content_type=kind)
            streamed.call_on_close(response.close)
            return streamed
        return Response(response.read(), content_type=kind)


class ProxyServer(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn with a thread for each client."""

    def __init__(self, port: int, threads: int, create: Callable[[], Flask]) -> None:
        self._settings: dict[str, Any] = {
            "bind": f"127.0.0.1:{port}",
            "worker_class": "gthread",
            "workers": 1,
            "threads": threads,
            "worker_connections": threads + 1024,
            "keepalive": 75,
            "control_socket_disable": True,
        }
        self._create = create
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's configuration."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Create the Flask app."""
        return self._create()


def create_app(port: int, client: str) -> Flask:
    """A proxy to the upstream on this port."""
    app = Flask("proxy")
    forward: Forward = HttpxForwarder(port) if client == "httpx" else HttpClientForwarder(port)
    for path in PATHS:
        app.add_url_rule(path, path, lambda: forward(request.path, request.get_data()), methods=["POST"])
    return app


if __name__ == "__main__":
    port, upstream_port, threads = map(int, sys.argv[1:4])
    ProxyServer(port, threads, partial(create_app, upstream_port, sys.argv[4])).run()
