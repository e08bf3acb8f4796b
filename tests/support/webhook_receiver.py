"""A server on the loopback interface that receives webhooks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiohttp import web


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((dict(self.headers.items()), body))  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class ReceiverThread:
    """Answers with 204 in a thread. Keeps what arrived."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.received: list[tuple[dict[str, str], bytes]] = []
        self._server.received = self.received  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> ReceiverThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Receiver:
    """Answers with these statuses in turn, then with 204; `delay_s` before each. Keeps what arrived."""

    def __init__(self, statuses: Iterable[int] = (), delay_s: float = 0.0) -> None:
        self.received: list[tuple[dict[str, str], bytes]] = []
        self._statuses = list(statuses)
        self._delay_s = delay_s
        self.url = ""
        self.may_answer: asyncio.Event | None = None
        """Awaited before each answer, if a test sets it."""

    @property
    def ids(self) -> list[str]:
        """The ids of the events, in the order in which they came."""
        return [headers["webhook-id"] for headers, _ in self.received]

    @asynccontextmanager
    async def served(self) -> AsyncIterator[Receiver]:
        """Listen on a free port."""
        app = web.Application()
        app.router.add_post("/hook", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/hook"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append((headers, await request.read()))
        if self.may_answer is not None:
            await self.may_answer.wait()
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        status = self._statuses.pop(0) if self._statuses else 204
        return web.Response(status=status, headers={"Location": "/hook"} if status == 307 else {})
