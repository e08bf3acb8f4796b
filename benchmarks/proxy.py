"""The reference: a bare Flask -> HTTP proxy. `python -m benchmarks.proxy PORT UPSTREAM_PORT THREADS CLIENT`.

As little as a proxy can do under the same server as the platform's API (gunicorn, gthread, one process, as
many threads): no key, no check, no queue, no log. `http.client` with one kept connection for each thread is
the least an HTTP client in Python costs; `httpx` is what people use.
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
PATH = "/v1/responses"
READ_BYTES = 1 << 16
Forward = Callable[[bytes], Response]


class Plain:
    """Forwards through `http.client`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._kept = threading.local()

    def __call__(self, body: bytes) -> Response:
        """Ask the upstream and hand on what it says, as it says it."""
        if not hasattr(self._kept, "connection"):
            self._kept.connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection: http.client.HTTPConnection = self._kept.connection
        connection.request("POST", PATH, body, HEADERS)
        answer = connection.getresponse()
        kind = answer.headers["Content-Type"]
        if kind == "text/event-stream":
            return Response(_relay(connection, answer), content_type=kind)
        return Response(answer.read(), content_type=kind)


def _relay(connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while data := answer.read1(READ_BYTES):
            yield data
    finally:
        if not answer.isclosed():
            connection.close()  # cut in the middle, it is good for nothing more


class Usual:
    """Forwards through `httpx`."""

    def __init__(self, port: int) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", limits=limits)

    def __call__(self, body: bytes) -> Response:
        """Ask the upstream and hand on what it says, as it says it."""
        asked = self._client.build_request("POST", PATH, content=body, headers=HEADERS)
        answer = self._client.send(asked, stream=True)
        kind = answer.headers["Content-Type"]
        if kind == "text/event-stream":
            made = Response(answer.iter_raw(), content_type=kind)
            made.call_on_close(answer.close)
            return made
        return Response(answer.read(), content_type=kind)


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn with the settings of the platform's API."""

    def __init__(self, port: int, threads: int, make: Callable[[], Flask]) -> None:
        self._settings: dict[str, Any] = {
            "bind": f"127.0.0.1:{port}",
            "worker_class": "gthread",
            "workers": 1,
            "threads": threads,
            "worker_connections": threads + 1024,
            "keepalive": 75,
            "control_socket_disable": True,
        }
        self._make = make
        super().__init__()

    def load_config(self) -> None:
        """Give gunicorn its settings."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """The app of this process."""
        return self._make()


def create_app(port: int, client: str) -> Flask:
    """The proxy to the upstream on that port."""
    app = Flask("proxy")
    forward: Forward = Usual(port) if client == "httpx" else Plain(port)
    app.add_url_rule(PATH, view_func=lambda: forward(request.get_data()), endpoint="proxy", methods=["POST"])
    return app


if __name__ == "__main__":
    here, there, threads = map(int, sys.argv[1:4])
    Server(here, threads, partial(create_app, there, sys.argv[4])).run()
