"""A server on the loopback interface that receives webhooks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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
        answers: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._answer(reader, writer))
            answers.add(task)
            task.add_done_callback(answers.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
        try:
            yield self
        finally:
            server.close()
            for task in answers:
                task.cancel()
            await asyncio.gather(*answers, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            request, *fields = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            assert request == "POST /hook HTTP/1.1"
            pairs = (field.split(": ", 1) for field in fields if field)
            headers = {name.lower(): value for name, value in pairs}
            self.received.append((headers, await reader.readexactly(int(headers["content-length"]))))
            if self.may_answer is not None:
                await self.may_answer.wait()
            if self._delay_s:
                await asyncio.sleep(self._delay_s)
            status = HTTPStatus(self._statuses.pop(0) if self._statuses else 204)
            location = "Location: /hook\r\n" if status == 307 else ""
            writer.write(f"HTTP/1.1 {status} {status.phrase}\r\n{location}\r\n".encode())
            await writer.drain()
