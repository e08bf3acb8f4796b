"""The answers of detached responses under a WSGI server, such as Flask's test client.

Stoker's own server has an event loop; a WSGI server has a thread for each request, which waits for the
answer.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import queue
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from flask import Config, Flask
from werkzeug.http import HTTP_STATUS_CODES

import api.app
from api.http.detached import DETACHED, DetachedResponse, run_detached
from api.http.server.client_connection import NO_HEADERS, Headers
from api.http.stoker_flask import StokerFlask
from api.services import AppServices, current_services
from api.wiring import make_services
from config.settings import Settings
from tests.support.loop_thread import LoopThread

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


@functools.cache
def bare_app(with_metrics: bool, with_ui: bool) -> StokerFlask:
    return api.app.create_bare_app(with_metrics=with_metrics, with_ui=with_ui)


def copied_app(app: StokerFlask) -> StokerFlask:
    """Return an app with the same routes, which has its own services, settings and views.

    Flask refuses to add a route to it: that would add it to all of these apps.
    """
    copied = copy.copy(app)
    copied.config = Config(app.config.root_path, app.config)
    copied.extensions = dict(app.extensions)
    copied.view_functions = dict(app.view_functions)
    copied.paths = {}
    copied._got_first_request = True
    return copied


def create_app(settings: Settings, services: AppServices | None = None, *, is_new: bool = False) -> Flask:
    """Return the app, which answers detached responses from the thread of the request.

    It shares the routes and the OpenAPI document with earlier apps unless `is_new`: to make them takes longer
    than most tests.
    """
    services = services or make_services(settings)
    if is_new:
        app = api.app.create_app(settings, services)
    else:
        app = copied_app(bare_app(settings.metrics.enabled, settings.ui.enabled))
        api.app.complete(app, settings, services)
    inner = app.wsgi_app

    def wsgi_app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        detached: list[DetachedResponse] = []
        body = inner({DETACHED: detached.append, **environ}, start_response)
        if not detached:
            return body
        with app.app_context():
            return answer_from_thread(detached[0], start_response)

    app.wsgi_app = wsgi_app  # type: ignore[method-assign]
    return app


def start_services(services: AppServices) -> None:
    """Start the services on a loop in a thread of its own, which `AppServices.stop` ends."""
    thread = LoopThread()
    thread.start()
    services.endings.append(thread.stop)
    services.start(thread.loop)


class WsgiConnection:
    """The client of a WSGI server that has a thread per request, such as Flask's test client.

    `pieces` receives the status and the headers, then the parts of the body, then None.
    """

    def __init__(self, headers: Headers) -> None:
        self.headers = headers
        self.writable = True
        self.takes_trailers = False
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

    def write_space(self) -> None:
        """See `ClientConnection.write_space`: no test waits so long."""

    def begin(self, status: int, headers: Headers) -> None:
        """See `ClientConnection.begin`."""
        self._begun = True
        line = f"{status} {HTTP_STATUS_CODES.get(status, 'Unknown')}"
        self.pieces.put((line, list({**self.headers, **headers}.items())))

    def write(self, data: bytes) -> None:
        """See `ClientConnection.write`."""
        if not self._ended:
            self.pieces.put(data)

    def end(self, _trailers: Headers = NO_HEADERS) -> None:
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


def answer_from_thread(response: DetachedResponse, start_response: StartResponse) -> Iterable[bytes]:
    """Serve a detached response on the loop of the app's services, and wait for it in this thread."""
    loop = current_services().loop
    client = WsgiConnection(dict(response.headers))
    asyncio.run_coroutine_threadsafe(run_detached(response, client), loop)
    head = client.pieces.get()
    if head is None:
        raise ConnectionAbortedError("the response was aborted before it began")
    start_response(*head)
    return _body(client, loop)


def _body(client: WsgiConnection, loop: asyncio.AbstractEventLoop) -> Iterator[bytes]:
    try:
        while (piece := client.pieces.get()) is not None:
            yield piece
    finally:
        with suppress(RuntimeError):  # the loop is closed, and with it every stream
            loop.call_soon_threadsafe(client.disconnect)
