"""The worker process: Celery with a thread pool, pinned to one GPU, with an executor and a worker agent."""

from __future__ import annotations

import logging
import os
import platform
import threading
from typing import Any

import orjson
from celery import signals
from celery.worker.consumer import Consumer

from config.settings import Settings
from fleet.fleet import Fleet
from scheduler.ledger import Ledger
from scheduler.reaper import Reaper
from scheduler.redis_connections import blocking_client, command_client
from scheduler.server_check import check_server
from tasks.app import app, configuration, queues
from tasks.definitions import GENERATE
from tasks.wake_up import wake_up_message
from tasks.worker_interface import set_current_worker
from telemetry.gc_tuning import tune_gc
from telemetry.logging import configure_logging
from workers.agent import WorkerAgent
from workers.executor import Executor
from workers.nvml import device_type

logger = logging.getLogger("workers")

CONTROL_THREADS = 8
"""Threads beside those for jobs, so that loads and unloads never wait behind generations."""

TASK_EVENT_DELAY_S = 0.1
"""Flower shows a task's state at most this much later."""


class Worker:
    """Connects an executor, its agent and Celery."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        client = command_client(settings)
        self.ledger = Ledger(client, settings)
        self.fleet = Fleet(client, settings)
        self.executor = Executor(name, settings, self.ledger, self.fleet)
        self.agent = WorkerAgent(self.executor, self.ledger, self.fleet, blocking_client(settings))
        self.reaper = Reaper(self.ledger)
        self._shutdown: threading.Thread | None = None

    def run(self) -> None:
        """Run until SIGTERM or SIGINT."""
        app.conf.update(configuration(self.settings))
        app.conf.task_queues = queues(self.name)
        app.conf.worker_consumer = BatchingConsumer
        signals.setup_logging.connect(self._set_up_logging, weak=False)
        signals.worker_ready.connect(self._ready, weak=False)
        signals.worker_shutting_down.connect(self._shutting_down, weak=False)
        set_current_worker(self.executor)
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

    def _set_up_logging(self, **_: Any) -> None:
        configure_logging(self.settings)
        for name in ("celery.worker.strategy", "celery.app.trace"):
            # two lines for each request, which Flower shows as well
            logging.getLogger(name).setLevel(logging.WARNING)

    def _ready(self, **_: Any) -> None:
        wake_up = wake_up_message(app, self.settings, GENERATE, self.name)
        self.ledger.scripts.load()
        self.fleet.scripts.load()
        about = orjson.dumps(machine_description()).decode()
        self.executor.begin(
            self.ledger.register(self.name, wake_up.key, wake_up.message, device_type(), about)
        )
        tune_gc()
        self.agent.start()
        self.reaper.start()
        logger.info(
            "worker %s is ready (%s, incarnation %s)", self.name, device_type(), self.executor.incarnation
        )

    def _shutting_down(self, how: str = "", **_: Any) -> None:
        # Celery would wait for its threads without limit: this thread enforces the limit and ends the process
        if self._shutdown is None:
            self._shutdown = threading.Thread(target=self._shut_down, args=(how,), name="shutdown")
            self._shutdown.start()

    def _shut_down(self, how: str) -> None:
        self.agent.stop()
        self.executor.shut_down(self.settings.worker.drain_timeout_s if how == "Warm" else 0.0)
        logger.info("worker %s has stopped", self.name)
        logging.shutdown()
        os._exit(0)


class BatchingConsumer(Consumer):
    """Celery's consumer, which sends task events (for Flower) in batches, every `TASK_EVENT_DELAY_S`.

    Celery's own sends them at each iteration of its event loop.
    """

    hub: Any
    _flush_events: Any
    _flush_scheduled = False

    def on_send_event_buffered(self) -> None:  # type: ignore[override] # the stubs have it as a property
        """Schedule a flush. Called by any thread that has an event to send."""
        if self.hub and not self._flush_scheduled:
            self._flush_scheduled = True
            self.hub.call_soon(self._schedule_flush)

    def _schedule_flush(self) -> None:
        self.hub.call_later(TASK_EVENT_DELAY_S, self._flush)

    def _flush(self) -> None:
        self._flush_scheduled = False
        self._flush_events()


def machine_description() -> dict[str, str | int]:
    """The worker's machine, shown to operators: host name, process id and CUDA_VISIBLE_DEVICES."""
    return {
        "host": platform.node(),
        "pid": os.getpid(),
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
    }


def run(name: str, settings: Settings) -> None:
    """Run the worker with that name until SIGTERM or SIGINT.

    Raises `ConfigError` when the Redis server is not suitable.
    """
    worker = Worker(name, settings)
    check_server(worker.ledger.scripts.client, settings)
    worker.run()
