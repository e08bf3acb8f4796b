"""One API process: an event loop (uvloop) that owns its connections, and the services of the Flask app."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import signal
import socket
import sys

import uvloop

from api.app import create_app
from api.http.server.acceptor import Acceptor
from api.http.server.access_log import AccessLog
from api.http.server.application import Application
from api.http.server.connections import Connections
from api.http.server.cross_origin import CrossOrigin
from api.http.server.http_protocol import HttpProtocol
from api.http.server.limits import limits_of
from api.http.shutdown_flag import ShutdownFlag
from api.operations.metrics.process_report import ProcessReport
from api.processes.metrics_port import MetricsPort
from api.processes.request_gate import RequestGate
from api.wiring import make_services
from config.settings import Settings
from telemetry.gc_tuning import tune_gc
from telemetry.tracing import open_tracing

logger = logging.getLogger("api")

SWITCH_INTERVAL_S = 0.001
"""How long a thread may keep the interpreter from the event loop where it can be interrupted. The default of
Python is 5 ms, each time that the loop wakes up while a large body is parsed."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run_process(settings: Settings, metrics_listener: socket.socket | None, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT, or until the process that forked this one is gone."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_until_stopped(settings, listener, metrics_listener=metrics_listener))


async def serve_until_stopped(
    settings: Settings,
    listener: socket.socket,
    stop: asyncio.Event | None = None,
    *,
    metrics_listener: socket.socket | None = None,
) -> None:
    """Serve until one of the signals, or until `stop` is set; then end within `api.graceful_timeout_s`."""
    loop = asyncio.get_running_loop()
    stopping = stop or _stop_event(loop)
    services = make_services(settings)
    flask = create_app(settings, services)
    services[ShutdownFlag].is_running = lambda: not stopping.is_set()
    services.start(loop)
    access_log = AccessLog(as_json=settings.log_format == "json")
    tracing = open_tracing("stoker-api")
    origins = settings.api.allowed_origins
    cross_origin = CrossOrigin(origins) if origins else None
    connections = Connections(limits_of(settings.api), access_log, tracing, cross_origin)
    services[ProcessReport].connections = connections
    application = Application(flask, RequestGate(services), settings.api, connections, loop)
    connections.start(loop)
    tune_gc()
    acceptor = Acceptor(loop, listener, connections, lambda: HttpProtocol(application, loop))
    acceptor.start()
    metrics_port = MetricsPort(services, access_log, loop)
    if metrics_listener is not None:
        metrics_port.start(metrics_listener)
    await stopping.wait()
    await asyncio.sleep(settings.api.drain_delay_s)  # load balancers see /ready, and send nothing more
    acceptor.close()
    metrics_port.stop()
    await connections.drain(settings.api.graceful_timeout_s)
    connections.stop()
    application.stop()
    services.stop()
    if tracing is not None:
        tracing.stop()


def _stop_event(loop: asyncio.AbstractEventLoop) -> asyncio.Event:
    stopping = asyncio.Event()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    parent = multiprocessing.parent_process()
    if parent is not None:
        loop.add_reader(parent.sentinel, stopping.set)
    return stopping
