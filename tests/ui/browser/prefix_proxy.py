"""A reverse proxy that serves the platform below a prefix, as `location /stoker/` of nginx does."""

from __future__ import annotations

import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host"}


class PrefixProxy:
    """Passes on requests below the prefix, without it; everything else is 404, as it is of another site."""

    def __init__(self, target_port: int, prefix: str) -> None:
        self.outside: list[str] = []
        """The paths of requests that were not below the prefix."""
        outside = self.outside

        class Handler(BaseHTTPRequestHandler):
            def _pass_on(self) -> None:
                if not self.path.startswith(f"{prefix}/"):
                    outside.append(self.path)
                    self.send_error(404)
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {
                    name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP
                }
                upstream = HTTPConnection("127.0.0.1", target_port)
                headers["Host"] = self.headers["Host"]  # nginx: proxy_set_header Host $http_host
                upstream.request(self.command, self.path.removeprefix(prefix), body or None, headers)
                answer = upstream.getresponse()
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                try:
                    while data := answer.read1(65536):
                        self.wfile.write(data)
                except OSError:
                    pass  # the browser has left
                finally:
                    upstream.close()

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _pass_on  # noqa: N815 - of the base class

            def log_message(self, *_: object) -> None:
                """Be silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{prefix}"

    def __enter__(self) -> PrefixProxy:
        """Serve until the end of the block."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the server; requests under way end with the process."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
