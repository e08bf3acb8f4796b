"""Responses that the event loop gives after the view has returned, and their form for plain WSGI servers."""

from __future__ import annotations

import asyncio
import logging
import queue
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
from flask import Response
from werkzeug import datastructures
from werkzeug.http import HTTP_STATUS_CODES

from api.http.answers import send_error
from api.http.errors import envelope
from api.http.server.client_connection import ClientConnection, Headers
from api.services import current_services
from store.errors import StokerError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

logger = logging.getLogger("api")

DETACHED = "stoker.detached"
"""The key in the WSGI environ of a function that takes the detached response, instead of a body."""

Serve = Callable[[ClientConnection], Awaitable[None]]
"""Answers a client on the event loop.

It may return before the answer is complete: the callbacks that it registered continue the answer then.
"""


class DetachedResponse(Response):
    """A view's promise of an answer: the server calls `serve` on its event loop with the client's connection.

    Its headers are those that Flask's hooks set; the connection adds them to the answer. `serve` has neither
    a Flask context nor a thread of its own.
    """

    def __init__(self, serve: Serve) -> None:
        # what `Response.__init__` sets for an empty response, without its search for a Content-Type
        self.headers = datastructures.Headers()
        self.response = []
        self.direct_passthrough = False
        self._status, self._status_code = "200 OK", 200
        self._on_close = []
        self.serve = serve

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Hand the response to the server's event loop; another server gets the answer from here."""
        detach = environ.get(DETACHED)
        if detach is not None:
            detach(self)
            return ()
        return _answer_from_thread(self, start_response)


async def run_detached(response: DetachedResponse, client: ClientConnection) -> None:
    """Serve the client.

    An error of the platform is the answer. Any other one is logged and answers 500; once the answer has
    begun, it cuts it.
    """
    try:
        await response.serve(client)
    except StokerError as error:
        send_error(client, error)
    except Exception:
        logger.exception("a detached response failed")
        client.respond(500, JSON, internal_error())


JSON = {"Content-Type": "application/json", "x-should-retry": "false"}


def internal_error() -> bytes:
    """The body of an `internal_error`; only the log has the details."""
    return orjson.dumps(envelope("internal_error", "an error inside the platform; its log has the details"))


class WsgiConnection:
    """The client of a WSGI server that has a thread per request, such as Flask's test client.

    `pieces` receives the status and the headers, then the parts of the body, then None.
    """

    def __init__(self, headers: Headers) -> None:
        self.headers = headers
        self.writable = True
        self.pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._on_disconnect: list[Callable[[], None]] = []
        self._begun = self._ended = self._gone = False

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """See `ClientConnection.on_disconnect`."""
        if self._gone:
            callback()
        else:
            self._on_disconnect.append(callback)

    def on_writable(self, callback: Callable[[], None]) -> None:
        """See `ClientConnection.on_writable`: the queue takes everything."""

    def respond(self, status: int, headers: Headers, body: bytes) -> None:
        """See `ClientConnection.respond`."""
        if self._begun:
            self.abort()
            return
        self.begin(status, {**headers, "Content-Length": str(len(body))})
        self.write(body)
        self.end()

    def begin(self, status: int, headers: Headers) -> None:
        """See `ClientConnection.begin`."""
        self._begun = True
        line = f"{status} {HTTP_STATUS_CODES.get(status, 'Unknown')}"
        self.pieces.put((line, list({**self.headers, **headers}.items())))

    def write(self, data: bytes) -> None:
        """See `ClientConnection.write`."""
        if not self._ended:
            self.pieces.put(data)

    def end(self) -> None:
        """See `ClientConnection.end`."""
        if not self._ended:
            self._ended = True
            self.pieces.put(None)

    def abort(self) -> None:
        """See `ClientConnection.abort`."""
        self.end()

    def disconnect(self) -> None:
        """The client is gone, on the event loop."""
        if not self._ended:
            self._ended = self._gone = True
            for callback in self._on_disconnect:
                callback()


def _answer_from_thread(response: DetachedResponse, start_response: StartResponse) -> Iterable[bytes]:
    loop = current_services().loop
    client = WsgiConnection(dict(response.headers))
    asyncio.run_coroutine_threadsafe(run_detached(response, client), loop)
    head = client.pieces.get()
    if head is None:
        raise ConnectionAbortedError("the response was aborted before its begin")
    start_response(*head)
    return _body(client, loop)


def _body(client: WsgiConnection, loop: asyncio.AbstractEventLoop) -> Iterator[bytes]:
    try:
        while (piece := client.pieces.get()) is not None:
            yield piece
    finally:
        with suppress(RuntimeError):  # the loop is closed, and with it every stream
            loop.call_soon_threadsafe(client.disconnect)
