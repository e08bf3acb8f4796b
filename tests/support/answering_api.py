"""An HTTP server that answers each path with what a test has set."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Answers(BaseHTTPRequestHandler):
    """Answers each path with the (status, body) pairs that the test has set; the last one is repeated.

    A DELETE has its own answers, under "DELETE PATH". A body may be a function, which returns it.
    """

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.server.bodies.append(json.loads(self.rfile.read(length)))  # type: ignore[attr-defined]
        self._answer()

    def do_DELETE(self) -> None:
        self._answer("DELETE ")

    def _answer(self, method: str = "") -> None:
        self.server.keys.append(self.headers.get("Authorization"))  # type: ignore[attr-defined]
        queue = self.server.answers[method + self.path]  # type: ignore[attr-defined]
        status, body = queue.pop(0) if len(queue) > 1 else queue[0]
        body = body() if callable(body) else body
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        with suppress(ConnectionError):  # the command was interrupted
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *_args: object) -> None:
        pass


@contextmanager
def answering_api() -> Iterator[Any]:
    """Run the server, at `url`: it has the `answers` by path, and the `bodies` and `keys` that it got."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.answers, server.bodies, server.keys = {}, [], []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
