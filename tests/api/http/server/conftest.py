"""The server of the API on a real port, in a thread of the test, with a Flask app of the test."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest
import uvloop
from flask import Flask, Response, request

from api.access.registry import AccessRegistry
from api.http.blocking import declare_not_blocking
from api.http.detached import DetachedResponse
from api.http.server.acceptor import Acceptor
from api.http.server.access_log import AccessLog
from api.http.server.application import Application
from api.http.server.client_connection import ClientConnection
from api.http.server.connections import Connections
from api.http.server.http_protocol import HttpProtocol
from api.http.server.limits import Limits
from api.processes.request_gate import RequestGate
from api.processes.serve import open_listener
from api.wiring import make_services
from config.settings import ApiSettings, Settings
from tests.support.raw_http import Address, Answer, RawClient, exchange
from tests.support.raw_http import request as http_request
from tests.support.waiting import scaled

THREADS = 4


class RunningServer:
    """A server, and what its views have seen."""

    def __init__(
        self, connections: Connections, address: Address, loop: asyncio.AbstractEventLoop, log: io.StringIO
    ) -> None:
        self.connections = connections
        self.access_log = log
        self.address = address
        self.loop = loop
        self.served: Future[ClientConnection] = Future()
        """The client that the detached view has got."""
        self.disconnected = threading.Event()
        self.unblock = threading.Event()
        self.blocked = threading.Semaphore(0)
        self.keys: list[str | None] = []
        """Of the requests that `echo_inline` has answered, in their order."""
        self.application: Application

    def client(self, **options: Any) -> RawClient:
        return RawClient(self.address, **options)

    def get(self, path: str, **headers: str | None) -> Answer:
        return exchange(self.address, http_request("GET", path, **headers))

    def exchange(self, data: bytes) -> Answer:
        return exchange(self.address, data)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the loop's thread, and return its result."""

        async def call() -> Any:
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(scaled(10))


def make_app(server: RunningServer) -> Flask:
    app = Flask("tests", static_folder=None)

    def echo() -> Response:
        body = request.get_data()
        facts = {name: value for name, value in request.environ.items() if isinstance(value, str)}
        return app.json.response({"length": len(body), "thread": threading.current_thread().name, **facts})

    def block() -> str:
        server.blocked.release()
        assert server.unblock.wait(scaled(10))
        return "unblocked"

    def detach() -> Response:
        async def serve(client: ClientConnection) -> None:
            client.on_disconnect(server.disconnected.set)
            server.served.set_result(client)

        return DetachedResponse(serve)

    def echo_inline() -> Response:
        server.keys.append(request.headers.get("X-Api-Key"))
        return echo()

    def block_inline() -> str:
        return block()

    def whole() -> Response:
        return Response(b"x" * int(request.args["size"]), headers={"X-Kind": "whole"})

    def broken_body() -> Response:
        def parts() -> Iterator[bytes]:
            yield b"one"
            raise RuntimeError

        return Response(parts())

    declare_not_blocking(detach)
    declare_not_blocking(echo_inline)
    declare_not_blocking(whole)
    declare_not_blocking(block_inline)
    for view in (echo, block, detach, echo_inline, block_inline, whole, broken_body):
        app.add_url_rule(f"/{view.__name__}", view_func=view, methods=["GET", "POST"])
    app.add_url_rule("/", "nothing", lambda: Response(status=204))
    return app


@contextmanager
def running(settings: Settings, limits: Limits) -> Iterator[RunningServer]:
    listener = open_listener(ApiSettings(port=0))
    started: Future[tuple[RunningServer, asyncio.Event]] = Future()

    async def serve() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        log = io.StringIO()
        connections = Connections(limits, AccessLog(as_json=True, stream=log))
        server = RunningServer(connections, listener.getsockname(), loop, log)
        services = make_services(settings)
        services[AccessRegistry].is_complete = True  # no Redis runs here that could have further keys
        application = Application(
            make_app(server), RequestGate(services), services[Settings].api, connections, loop
        )
        server.application = application
        connections.start(loop)
        acceptor = Acceptor(loop, listener, connections, lambda: HttpProtocol(application, loop))
        acceptor.start()
        started.set_result((server, stop))
        await stop.wait()
        acceptor.close()
        connections.stop()
        application.stop()

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    server, stop = started.result(scaled(10))
    try:
        yield server
    finally:
        server.unblock.set()
        server.loop.call_soon_threadsafe(stop.set)
        thread.join()


Serve = Callable[..., RunningServer]


@pytest.fixture
def serve(settings: Settings) -> Iterator[Serve]:
    """Start a server with these limits."""
    settings = replace(settings, api=replace(settings.api, threads=THREADS))
    with ExitStack() as stack:
        yield lambda **limits: stack.enter_context(running(settings, Limits(**limits)))


@pytest.fixture
def server(serve: Serve) -> RunningServer:
    """A server with the default limits."""
    return serve()
