"""A site of another origin, on a port of its own: what it serves is hostile to the platform."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


class ForeignSite:
    """Serves one page at every path, at 127.0.0.1 and localhost."""

    def __init__(self, page: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = page.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Be silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def url(self, host: str) -> str:
        """The address of its page by this name of the machine."""
        return f"http://{host}:{self._server.server_address[1]}/"

    def __enter__(self) -> ForeignSite:
        """Serve until the end of the block."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
