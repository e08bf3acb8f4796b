"""The further port for /metrics: all API processes accept its connections, like those of the API's port.

Whoever reaches a loopback address may read the metrics; a listener on another address asks for a key with the
scope `metrics`, as the API's port does.
"""

from __future__ import annotations

import asyncio
import socket

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from api.access.authenticator import Authenticator
from api.access.open_mode import METRICS_PORT, OpenMode
from api.http.errors import NotFound
from api.http.http_responses import error_response, unexpected_error_response
from api.http.route_access import Access
from api.http.server.acceptor import Acceptor
from api.http.server.access_log import AccessLog
from api.http.server.application import Application
from api.http.server.connections import Connections
from api.http.server.http_protocol import HttpProtocol
from api.http.server.limits import Limits
from api.operations.metrics.routes import metrics_response
from api.processes.request_gate import RequestGate
from api.services import EXTENSION, AppServices
from config.loopback import is_loopback
from config.settings import Settings
from store.errors import StokerError

MAX_CONNECTIONS = 64
MAX_BODY_BYTES = 1024


class MetricsPort:
    """The server of one process on the port."""

    def __init__(self, services: AppServices, access_log: AccessLog, loop: asyncio.AbstractEventLoop) -> None:
        limits = Limits(
            max_body_bytes=MAX_BODY_BYTES,
            max_connections=MAX_CONNECTIONS,
            max_connections_per_address=MAX_CONNECTIONS,
        )
        self._loop = loop
        self._connections = Connections(limits, access_log)
        self._application = Application(
            metrics_app(services), RequestGate(services), services[Settings].api, self._connections, loop
        )
        self._acceptor: Acceptor | None = None

    def start(self, listener: socket.socket) -> None:
        """Accept connections."""
        self._connections.start(self._loop)
        self._acceptor = Acceptor(
            self._loop, listener, self._connections, lambda: HttpProtocol(self._application, self._loop)
        )
        self._acceptor.start()

    def stop(self) -> None:
        """Close all connections."""
        if self._acceptor is not None:
            self._acceptor.close()
        self._connections.stop()
        self._application.stop()


def metrics_app(services: AppServices) -> Flask:
    """The app of the port, with one route."""
    settings = services[Settings]
    app = Flask("metrics", static_folder=None)
    app.extensions[EXTENSION] = services
    on_loopback = is_loopback(settings.metrics.host)
    without_key = OpenMode(settings.api.allowed_hosts, METRICS_PORT) if on_loopback else None

    def authorize() -> None:
        if without_key is not None:
            without_key.check(request.headers.get("Host"), request.headers.get("Origin"))
        else:
            services[Authenticator].identify(request.headers, Access.METRICS, request.remote_addr)

    def http_error(_error: HTTPException) -> Response:
        return error_response(NotFound("this port answers GET /metrics only"))

    app.before_request(authorize)
    app.add_url_rule("/metrics", "metrics", metrics_response)
    app.register_error_handler(StokerError, error_response)
    app.register_error_handler(HTTPException, http_error)
    app.register_error_handler(Exception, unexpected_error_response)
    return app
