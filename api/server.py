"""gunicorn, as this API needs it: `python -m api.server`, or `serve(settings)`.

gthread workers: a waiting request costs a thread and nothing else, and `gunicorn.socket` lets us notice a
client that hangs up. Each process makes its own app after the fork, so no connection and no thread is ever
shared.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from flask import Flask
from gunicorn import glogging  # type: ignore[import-untyped]
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from api.app import create_app
from api.services import EXTENSION
from config.errors import ConfigError
from config.load import load_settings
from config.settings import Settings
from scheduler.redis_connections import command_client
from scheduler.server_check import check_server
from telemetry.gc_tuning import settle
from telemetry.logging import setup

logger = logging.getLogger("api")

KEEP_ALIVE_S = 75
"""How long an idle connection stays; longer than most clients keep theirs, so that it is they who close it.
"""

SPARE_CONNECTIONS = 1024
"""Idle connections beside one for each thread."""


class Log(glogging.Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's own lines go where all others go, in the same form."""

    def setup(self, cfg: Any) -> None:
        """Set the level; `telemetry.logging` has set up the rest."""
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """The API under gunicorn. `run` returns when the server has stopped."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        super().__init__()

    def load_config(self) -> None:
        """Give gunicorn its settings."""
        for name, value in configuration(self.settings).items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make this process' app."""
        return create_app(self.settings)


def configuration(settings: Settings) -> dict[str, Any]:
    """gunicorn's settings for ours."""
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
        "logger_class": Log,
        "loglevel": settings.log_level,
        "proc_name": "stoker-api",
        "control_socket_disable": True,
        "post_worker_init": start_rooms,
        "worker_exit": stop_rooms,
    }


def start_rooms(worker: Any) -> None:
    """Called in each new process once its app is made: begin to listen before the first request comes."""
    settle()
    here = worker.wsgi.extensions[EXTENSION]
    here.life.goes_on = lambda: bool(worker.alive)
    here.start()


def stop_rooms(_server: Any, worker: Any) -> None:
    """Called in a process that ends."""
    app = getattr(worker, "wsgi", None)  # none, if it could not be made
    if isinstance(app, Flask):
        app.extensions[EXTENSION].stop()


def serve(settings: Settings) -> None:
    """Answer until SIGTERM or SIGINT. Raises `ConfigError` before anything is listened to."""
    setup(settings)
    try:
        check_server(command_client(settings), settings)
    except ConfigError as error:
        logger.warning("%s", error)  # /health says so too, and the API answers as soon as Redis does
    create_app(settings)  # what is wrong with the configuration is said here, not by each worker
    Server(settings).run()


def main() -> None:
    """Answer with the settings of this machine; a configuration that cannot be used is one line each."""
    try:
        serve(load_settings())
    except ConfigError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
