"""Runs the Flask app for complete requests: on the event loop, or in a thread if the view blocks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from flask import Flask

from api.http.blocking import blocks
from api.http.detached import DETACHED, DetachedResponse, run_detached
from api.http.errors import internal_error
from api.http.request_body import BODY, CONTENT_ENCODING
from api.http.server import rejection
from api.http.server.body_sink import SINK, BodyFlow, BodySink
from api.http.server.connections import Connections
from api.http.server.http_answer import HttpAnswer
from api.http.server.limits import KEYLESS_BODY_BYTES
from api.http.server.rejection import answer_of
from api.http.server.request import HttpRequest, base_environ
from api.http.server.turns import LoopTurns
from config.settings import ApiSettings
from generation.tenant_turns import TenantTurns
from telemetry.request_ids import RequestIds, current_ids

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

logger = logging.getLogger("api")

UNAUTHORIZED = 401

MAX_WAITING = 1024
"""Requests that may wait for a thread; their bodies count as pending."""

INLINE_IN_TURN = 16
"""Requests that are handled on the event loop in one of its iterations: a hundred that arrive together would
hold up all other connections for as many times 0.5 ms. With fewer of them, fewer share one call of Redis.
"""

LONGEST_ITERATION_S = 0.005
"""Fewer are handled while iterations take longer: a new connection is answered in its fourth or fifth."""

LEAST_INLINE = 4
"""So many are handled in any case: they share one call of Redis."""

LARGE_BODY_THREADS = 1
"""Threads that parse large bodies: parsing holds the interpreter, which the event loop needs as well. More of
them would not be faster, and the event loop would have to wait for each. Tenants take turns."""


class RequestGate(Protocol):
    """What decides about a request before its body is read."""

    def has_session(self, environ: Mapping[str, Any]) -> bool:
        """Whether the request of this WSGI environ may carry a session: to look it up needs a thread."""
        ...

    def check_key(self, request: HttpRequest, address: str) -> None:
        """Check the key of a request from `address` whose body is large, and note its tenant.

        Raises `RequestRejected`.
        """
        ...

    def has_unknown_key(self, request: HttpRequest) -> bool:
        """Whether the key of a request is unknown to this process, and may be new."""
        ...

    def has_session_alone(self, request: HttpRequest) -> bool:
        """Whether a session takes the place of the request's key."""
        ...

    async def check_session(self, request: HttpRequest) -> None:
        """Look up the session of a request whose body is large, and note its tenant.

        Raises `RequestRejected`.
        """
        ...

    async def follow_keys(self) -> None:
        """Ask once for new keys."""
        ...

    def open_sink(self, request: HttpRequest, address: str, flow: BodyFlow) -> BodySink | None:
        """Return a sink for a body that goes to the disk while it arrives, else None.

        Raises `RequestRejected`.
        """
        ...

    def stop(self) -> None:
        """End the sinks that are open."""
        ...


class Application:
    """The Flask app of one process, and what its connections share."""

    def __init__(
        self,
        flask: Flask,
        gate: RequestGate,
        api: ApiSettings,
        connections: Connections,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.gate = gate
        self.connections = connections
        self._flask = flask
        self._loop = loop
        self._tracing = connections.tracing
        self._base_environ = base_environ(api.host, api.port)
        self._inline = inline_routes(flask)
        self._inline_turns = LoopTurns(INLINE_IN_TURN, LEAST_INLINE, LONGEST_ITERATION_S)
        self._threads = ThreadPoolExecutor(api.threads, thread_name_prefix="api")
        self._large_body_threads = ThreadPoolExecutor(LARGE_BODY_THREADS, thread_name_prefix="api-large-body")
        self._large_bodies: TenantTurns[tuple[HttpRequest, HttpAnswer]] = TenantTurns()
        self._parsed_at_once = 0
        self._in_threads = 0
        self._max_in_threads = api.threads + MAX_WAITING
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, request: HttpRequest, client: HttpAnswer) -> None:
        """Answer a complete request. Called on the event loop."""
        cross_origin = self.connections.cross_origin
        if cross_origin is not None:
            preflight = cross_origin.preflight(request.method, request.wsgi)
            if preflight is not None:
                self.connections.release_body(request)
                client.respond(HTTPStatus.NO_CONTENT, preflight, b"")
                return
        # a session is looked up in Redis: its requests need a thread
        is_inline = (request.method, request.path) in self._inline and not self.gate.has_session(request.wsgi)
        # the size of a body that is decoded first is not known
        if is_inline and request.size <= KEYLESS_BODY_BYTES and CONTENT_ENCODING not in request.wsgi:
            self._inline_turns.step(
                self._loop, request.wsgi["REMOTE_ADDR"], partial(self._handle_inline, request, client)
            )
        elif self._in_threads >= self._max_in_threads:
            self.connections.release_body(request)
            error = rejection.busy("all threads of this server are busy").error
            client.respond(*answer_of(error, client.ids.request_id, request.path))
        else:
            self._in_threads += 1
            if is_inline:
                self._large_bodies.add(request.tenant, (request, client))
                self._parse_next()
            else:
                self._threads.submit(self._call_in_thread, request, client, self._return_from_thread)

    def _handle_inline(self, request: HttpRequest, client: HttpAnswer) -> None:
        self._deliver_or_repeat(self._call(request, client), request, client)

    def _parse_next(self) -> None:
        """Let the next large bodies be parsed, as far as there are threads."""
        while self._parsed_at_once < LARGE_BODY_THREADS:
            if (waiting := self._large_bodies.take()) is None:
                return
            self._parsed_at_once += 1
            self._large_body_threads.submit(self._call_in_thread, *waiting, self._return_parsed)

    def _return_parsed(self, call: WsgiCall, request: HttpRequest, client: HttpAnswer) -> None:
        self._parsed_at_once -= 1
        self._parse_next()
        self._return_from_thread(call, request, client)

    def _begin_span(self, request: HttpRequest, ids: RequestIds) -> None:
        assert self._tracing is not None  # noqa: S101
        ids.span = self._tracing.begin_request(request.method, request.wsgi.get("HTTP_TRACEPARENT"))
        ids.traceparent = self._tracing.traceparent(ids.span)

    def stop(self) -> None:
        """Cancel the detached responses; the process ends after the views that run in threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._large_body_threads.shutdown(wait=False, cancel_futures=True)
        self.gate.stop()
        for task in self._tasks:
            task.cancel()

    def _call_in_thread(
        self,
        request: HttpRequest,
        client: HttpAnswer,
        then: Callable[[WsgiCall, HttpRequest, HttpAnswer], None],
    ) -> None:
        call = self._call(request, client)
        self._loop.call_soon_threadsafe(then, call, request, client)

    def _return_from_thread(self, call: WsgiCall, request: HttpRequest, client: HttpAnswer) -> None:
        self._in_threads -= 1
        self._deliver_or_repeat(call, request, client)

    def _deliver_or_repeat(self, call: WsgiCall, request: HttpRequest, client: HttpAnswer) -> None:
        """Deliver the answer. One that refuses a key which may be new is asked for once more."""
        is_refused = call.status == UNAUTHORIZED and call.detached is None
        if is_refused and not request.is_repeated and self.gate.has_unknown_key(request):
            request.is_repeated = True
            task = self._loop.create_task(self._repeat(request, client))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._deliver(call, request, client)

    async def _repeat(self, request: HttpRequest, client: HttpAnswer) -> None:
        """Handle a request again when new keys are known."""
        await self.gate.follow_keys()
        self.handle(request, client)

    def _call(self, request: HttpRequest, client: HttpAnswer) -> WsgiCall:
        call = WsgiCall()
        environ = request.finish_environ(self._base_environ)
        environ[DETACHED], environ[BODY] = call.detach, request.body
        if request.sink is not None:
            environ[SINK] = request.sink
        if self._tracing is not None:
            self._begin_span(request, client.ids)
        before = current_ids.set(client.ids)
        try:
            call.run(self._flask, environ)
        except Exception:
            logger.exception("%s %r failed in the server", request.method, request.path)
            call.status, headers, call.body = answer_of(internal_error(), client.ids.request_id, request.path)
            call.fields = list(headers.items())
        finally:
            current_ids.reset(before)
        return call

    def _deliver(self, call: WsgiCall, request: HttpRequest, client: HttpAnswer) -> None:
        self.connections.release_body(request)
        if call.detached is None:
            try:
                client.respond_with_fields(call.status, call.fields, call.body)
            except ValueError:
                logger.exception("%s %r has a header that cannot be sent", request.method, request.path)
                client.respond(*answer_of(internal_error(), client.ids.request_id, request.path))
            return
        client.detach(dict(call.detached.headers))
        before = current_ids.set(client.ids)  # for the task, which copies it
        task = self._loop.create_task(run_detached(call.detached, client))
        current_ids.reset(before)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class WsgiCall:
    """One call of the WSGI app, and its result: a detached response, or status, fields and body."""

    __slots__ = ("body", "detached", "fields", "status")

    def __init__(self) -> None:
        self.status = 500
        self.fields: list[tuple[str, str]] = []
        self.body = b""
        self.detached: DetachedResponse | None = None

    def run(self, flask: Flask, environ: WSGIEnvironment) -> None:
        """Call the app and read its whole body."""
        parts: Iterable[bytes] = flask.wsgi_app(environ, self.start_response)
        try:
            self.body = b"".join(parts)
        finally:
            close = getattr(parts, "close", None)
            if close is not None:
                close()

    def start_response(self, status: str, fields: list[tuple[str, str]], _exc_info: Any = None) -> Any:
        """Called by the app."""
        self.status, self.fields = int(status[:3]), fields

    def detach(self, response: DetachedResponse) -> None:
        """Called by a detached response instead of `start_response`."""
        self.detached = response


def inline_routes(flask: Flask) -> frozenset[tuple[str, bytes]]:
    """Method and path of the routes whose views are declared `blocking=False`; they have no parameters."""
    return frozenset(
        (method, rule.rule.encode())
        for rule in flask.url_map.iter_rules()
        if not rule.arguments and not blocks(flask.view_functions[rule.endpoint])
        for method in rule.methods or ()
    )
