"""A worker process: Celery with threads, pinned to one GPU, with the host of its engines inside."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

import orjson
from celery import signals

from config.settings import Settings
from fleet.fleet import Fleet
from scheduler.ledger import Ledger
from scheduler.reaper import Reaper
from scheduler.redis_connections import blocking_client, command_client
from scheduler.server_check import check_server
from tasks import worker_interface as hosts
from tasks.app import app, configuration, queues
from tasks.generate import GENERATE
from tasks.wake_up import wake_up_message
from telemetry.gc_tuning import settle
from telemetry.logging import setup as set_up_logging
from workers.agent import WorkerAgent
from workers.device import about, device
from workers.executor import Host

logger = logging.getLogger("workers")

CONTROL_THREADS = 8
"""Beside those for requests: loads and unloads never wait behind generations."""


class Worker:
    """Wires a host, its heart and Celery together."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        client = command_client(settings)
        self.ledger = Ledger(client, settings)
        self.fleet = Fleet(client, settings)
        self.host = Host(name, settings, self.ledger, self.fleet)
        self.agent = WorkerAgent(self.host, self.ledger, self.fleet, blocking_client(settings))
        self.reaper = Reaper(self.ledger)
        self._shutdown: threading.Thread | None = None

    def run(self) -> None:
        """Run until SIGTERM or SIGINT."""
        app.conf.update(configuration(self.settings))
        app.conf.task_queues = queues(self.name)
        app.conf.worker_consumer = "workers.celery_consumer:Consumer"
        signals.setup_logging.connect(self._log, weak=False)
        signals.worker_ready.connect(self._ready, weak=False)
        signals.worker_shutting_down.connect(self._shutting_down, weak=False)
        hosts.install(self.host)
        arguments = [
            "--quiet",  # no banner: logs may be JSON
            "worker",
            "--pool=threads",
            f"--concurrency={self.settings.worker.threads + CONTROL_THREADS}",
            f"--hostname={self.name}@%h",
            "--without-gossip",
            "--without-mingle",
            f"--loglevel={self.settings.log_level}",
        ]
        if self.settings.worker.task_events:
            arguments.append("--task-events")
        app.worker_main(arguments)
        if self._shutdown:
            self._shutdown.join()

    def _log(self, **_: Any) -> None:
        set_up_logging(self.settings)
        for name in ("celery.worker.strategy", "celery.app.trace"):
            # two lines a request; Flower shows the same, and more
            logging.getLogger(name).setLevel(logging.WARNING)

    def _ready(self, **_: Any) -> None:
        ring = wake_up_message(app, self.settings, GENERATE, self.name)
        self.ledger.scripts.load()
        self.fleet.scripts.load()
        self.host.begin(
            self.ledger.register(self.name, ring.key, ring.message, device(), orjson.dumps(about()).decode())
        )
        settle()
        self.agent.start()
        self.reaper.start()
        logger.info("worker %s is ready (%s, incarnation %s)", self.name, device(), self.host.incarnation)

    def _shutting_down(self, how: str = "", **_: Any) -> None:
        # Celery would wait for its threads without bound; the bound is ours, and so is the exit
        if self._shutdown is None:
            self._shutdown = threading.Thread(target=self._shut_down, args=(how,), name="shutdown")
            self._shutdown.start()

    def _shut_down(self, how: str) -> None:
        self.agent.stop()
        self.host.shut_down(self.settings.worker.drain_timeout_s if how == "Warm" else 0.0)
        logger.info("worker %s has stopped", self.name)
        logging.shutdown()
        os._exit(0)


def run(name: str, settings: Settings) -> None:
    """Run the worker of that name until it is told to stop. Raises `ConfigError` for a Redis of no use."""
    worker = Worker(name, settings)
    check_server(worker.ledger.scripts.client, settings)
    worker.run()
