"""Runs the API under gunicorn: `python -m api.server`, or `serve(settings)`.

It uses gthread workers: a waiting request costs one thread only, and `gunicorn.socket` makes a client's
disconnect visible. Each process makes its own app and starts its services after the fork, so that processes
share neither connections nor threads.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from flask import Flask
from gunicorn import glogging  # type: ignore[import-untyped]
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from api.app import create_app
from api.services import EXTENSION, AppServices
from config.errors import ConfigError
from config.load import load_settings
from config.settings import Settings
from scheduler.redis_connections import command_client
from scheduler.server_check import check_server
from telemetry.gc_tuning import tune_gc
from telemetry.logging import configure_logging

logger = logging.getLogger("api")

KEEP_ALIVE_S = 75
"""How long an idle connection stays open: longer than in most clients, so that the client closes it."""

SPARE_CONNECTIONS = 1024
"""Idle connections, in addition to one for each thread."""


class GunicornLogger(glogging.Logger):  # type: ignore[misc]  # gunicorn has no types
    """Sends gunicorn's log lines through the root logger, in the platform's format."""

    def setup(self, cfg: Any) -> None:
        """Set the level; `telemetry.logging` sets up handlers and format."""
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


class ApiServer(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """The API under gunicorn. `run` returns when the server has stopped."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's options."""
        for name, value in gunicorn_options(self.settings).items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make the app of this process."""
        return create_app(self.settings)


def gunicorn_options(settings: Settings) -> dict[str, Any]:
    """gunicorn's options for the platform's settings."""
    api = settings.api
    return {
        "bind": f"{api.host}:{api.port}",
        "worker_class": "gthread",
        "workers": api.processes,
        "threads": api.threads,
        "worker_connections": api.threads + SPARE_CONNECTIONS,
        "keepalive": KEEP_ALIVE_S,
        "graceful_timeout": api.graceful_timeout_s,
        "preload_app": False,
        "accesslog": None,
        "logger_class": GunicornLogger,
        "loglevel": settings.log_level,
        "proc_name": "stoker-api",
        "control_socket_disable": True,
        "post_worker_init": start_services,
        "worker_exit": stop_services,
    }


def start_services(worker: Any) -> None:
    """Start the services of a new process: after its app is made, before its first request."""
    tune_gc()
    services: AppServices = worker.wsgi.extensions[EXTENSION]
    services.shutdown.is_running = lambda: bool(worker.alive)
    services.start()


def stop_services(_server: Any, worker: Any) -> None:
    """Stop the services of a process that ends."""
    app = getattr(worker, "wsgi", None)  # missing if the app could not be made
    if isinstance(app, Flask):
        app.extensions[EXTENSION].stop()


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. Raises `ConfigError` before the port is opened."""
    configure_logging(settings)
    try:
        check_server(command_client(settings), settings)
    except ConfigError as error:
        logger.warning("%s", error)  # /health reports it too, and the API works as soon as Redis does
    create_app(settings)  # raises configuration errors once, before gunicorn starts processes
    ApiServer(settings).run()


def main() -> None:
    """Serve with the settings of this machine. An invalid configuration ends in one line per problem."""
    try:
        serve(load_settings())
    except ConfigError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
