"""Runs the API: checks the configuration, opens the port, and starts the processes that share it."""

from __future__ import annotations

import logging
import os
import socket
from dataclasses import replace
from functools import partial

from api.access.authenticator import Authenticator
from api.http.server.limits import limits_of
from api.processes.process import run_process
from api.processes.processes import Processes
from api.wiring import make_services
from config.errors import ConfigError
from config.settings import ApiSettings, Settings
from fleet.configuration_digest import configuration_digests, stored_digests, warnings
from store.errors import StorageUnavailable
from store.redis_connections import command_client
from store.server_check import check_server
from telemetry.logging import configure_logging

logger = logging.getLogger("api")

SEND_BUFFER_BYTES = 128 * 1024
"""The kernel's memory for what a client has not received. Without a limit it grows to megabytes for each."""

BACKLOG = 2048
"""Connections that wait in the kernel."""


class ListenError(Exception):
    """Raised when the configured address cannot be listened on."""


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. Raises `ConfigError` and `ListenError` before the port is open."""
    configure_logging(settings)
    client = command_client(settings)
    try:
        check_server(client, settings)
        for warning in warnings(
            configuration_digests(settings), stored_digests(client, settings.redis.prefix)
        ):
            logger.warning("%s", warning)
    except (ConfigError, StorageUnavailable) as error:
        logger.warning("%s", error)  # /health reports it too, and the API works as soon as Redis does
    finally:
        client.close()
    services = make_services(settings)  # raises configuration errors once, before the processes start
    for warning in services[Authenticator].warnings():
        logger.warning("%s", warning)
    limits_of(settings.api)  # warns once; the processes inherit the raised limit of open files
    listener = open_listener(settings.api)
    host, port = listener.getsockname()[:2]
    logger.info("listening on %s port %d, processes: %d", host, port, settings.api.processes)
    metrics_listener = open_metrics_listener(settings)
    serve_one = partial(run_process, settings, metrics_listener)
    stop_timeout_s = settings.api.drain_delay_s + settings.api.graceful_timeout_s
    Processes(settings.api.processes, listener, serve_one, stop_timeout_s).run()


def open_metrics_listener(settings: Settings) -> socket.socket | None:
    """The socket of the further port for /metrics, if there is one. Raises `ListenError`."""
    metrics = settings.metrics
    if not metrics.enabled or metrics.port is None:
        return None
    listener = open_listener(replace(settings.api, host=metrics.host, port=metrics.port), "metrics")
    host, port = listener.getsockname()[:2]
    logger.info("metrics on %s port %d", host, port)
    return listener


def open_listener(api: ApiSettings, section: str = "api") -> socket.socket:
    """The listening socket of the settings' section. Raises `ListenError`."""
    try:
        host = api.host.strip("[]")
        wanted = socket.AF_INET6 if ":" in host else socket.AF_INET  # `localhost` is 127.0.0.1
        family, _, _, _, address = socket.getaddrinfo(host, api.port, wanted, socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ListenError(f"{section}.host {api.host} is not an address: {error.strerror}") from None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # inherited by the connections
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux: a client whose machine no longer answers
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(api.write_timeout_s * 1000))
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        reason = os.strerror(error.errno or 0)
        raise ListenError(f"cannot listen on {api.host} port {api.port} ({section}.port): {reason}") from None
    listener.setblocking(False)
    return listener
