"""Responses that the event loop gives after the view has returned."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

import orjson
from flask import Response
from werkzeug import datastructures

from api.http.answers import send_error
from api.http.errors import envelope
from api.http.server.client_connection import ClientConnection
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

    def __call__(self, environ: WSGIEnvironment, _start_response: StartResponse) -> Iterable[bytes]:
        """Hand the response to the server, which serves it on its event loop."""
        environ[DETACHED](self)
        return ()


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
    return orjson.dumps(envelope("internal_error", "an internal error; the platform's log has the details"))
