"""The worker process of one GPU: an event loop that runs the jobs, a worker agent, and Celery.

Celery runs the loads and unloads in its threads, and starts and stops the rest (see `workers.celery_steps`).
"""

from __future__ import annotations

import logging
import os
import platform
import sys
import threading
from typing import Any

import orjson
from celery import signals

from config.commands import with_runnable_commands
from config.settings import Settings
from engines.nvml import device_type
from fleet.configuration_digest import Digests, configuration_digests, stored_digests, warnings
from fleet.fleet import Fleet
from fleet.reaper import Reaper
from scheduler.ledger import Ledger
from store.redis_connections import command_client
from store.server_check import check_server
from store.subscription import Subscription
from tasks.app import app, configuration, queues
from tasks.worker_interface import set_current_worker
from telemetry.gc_tuning import tune_gc
from telemetry.logging import configure_logging
from telemetry.tracing import open_tracing
from workers.agent import WorkerAgent
from workers.celery_steps import add_steps
from workers.claim_intake import ClaimIntake
from workers.executor import Executor
from workers.io_loop import IoLoop
from workers.model_files import files_digests
from workers.software_versions import software_versions

logger = logging.getLogger("workers")

DRAINED_BY_OPERATOR = "an operator drains {name}: it gets no work until `stoker drain {name} --end`"

CONTROL_THREADS = 8
"""Loads and unloads that may run at once."""


class Worker:
    """Connects an event loop, an executor, its agent and Celery."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        client = command_client(settings)
        self.ledger = Ledger(client, settings)
        self.fleet = Fleet(client, settings)
        self.io = IoLoop()
        self.executor = Executor(name, settings, self.ledger, self.fleet, self.io.loop)
        self.agent = WorkerAgent(self.executor, self.ledger, self.fleet, self.io)
        self.reaper = Reaper(self.fleet.registry)
        self._shutdown: threading.Thread | None = None

    def run(self) -> None:
        """Run until SIGTERM or SIGINT."""
        app.conf.update(configuration(self.settings))
        app.conf.task_queues = queues(self.name)
        signals.setup_logging.connect(self._set_up_logging, weak=False)
        signals.worker_shutting_down.connect(self._shutting_down, weak=False)
        add_steps(app, self.executor, self._start, self._wait_for_shut_down)
        set_current_worker(self.executor)
        self.io.start()
        arguments = [
            "--quiet",  # no banner: logs may be JSON
            "worker",
            "--pool=threads",
            f"--concurrency={CONTROL_THREADS}",
            f"--hostname={self.name}@%h",
            "--without-gossip",
            "--without-mingle",
            f"--loglevel={self.settings.log_level}",
        ]
        if self.settings.worker.task_events:
            arguments.append("--task-events")
        app.worker_main(arguments)

    def _set_up_logging(self, **_: Any) -> None:
        sys.__stdout__ = None  # type: ignore[misc] # Celery prints there that it stops; a record says so, too
        configure_logging(self.settings)
        for name in ("celery.worker.strategy", "celery.app.trace"):
            # two lines for each request, which Flower shows as well
            logging.getLogger(name).setLevel(logging.WARNING)

    def _start(self) -> None:
        """Register, and take jobs."""
        self.ledger.scripts.load()
        self.fleet.scripts.load()
        device = device_type()
        digests = {
            **configuration_digests(self.settings),
            **files_digests(self.settings.models.values(), device),
        }
        self._warn_of_differences(digests)
        about = orjson.dumps({**machine_description(self.settings), "digests": digests}).decode()
        incarnation = self.fleet.registry.register(self.name, device, about)
        self.executor.tracing = open_tracing("stoker-worker")
        self.executor.begin(incarnation)
        channel = self.ledger.notify_channel(self.name)
        key = self.ledger.claims_key(incarnation)
        self.io.spawn(Subscription(self.settings, channel, self.executor.on_message, _nothing_missed).run())
        self.io.spawn(
            ClaimIntake(self.settings, key, self.executor.begin_jobs, self.executor.recover_claims).run()
        )
        tune_gc()
        self.agent.start()
        self.reaper.start()
        if self.fleet.drains.is_drained(self.name):
            logger.warning("%s", with_runnable_commands(DRAINED_BY_OPERATOR.format(name=self.name)))
        logger.info("worker %s is ready (%s, incarnation %s)", self.name, device, incarnation)

    def _warn_of_differences(self, digests: Digests) -> None:
        """Log how this host differs from those of the other workers."""
        others = stored_digests(self.ledger.scripts.client, self.settings.redis.prefix)
        others.pop(self.name, None)
        for warning in warnings(digests, others):
            logger.warning("%s", warning)

    def _shutting_down(self, how: str = "", **_: Any) -> None:
        # Celery would wait for its threads without limit: this thread enforces the limit and ends the process
        if self._shutdown is None:
            logger.info("worker %s is stopping", self.name)
            self._shutdown = threading.Thread(target=self._shut_down, args=(how,), name="shutdown")
            self._shutdown.start()

    def _wait_for_shut_down(self) -> None:
        """Keep Celery from stopping further parts while jobs finish. Does not return: the process ends."""
        self._shutting_down("Warm")
        if self._shutdown is not None:
            self._shutdown.join()

    def _shut_down(self, how: str) -> None:
        self.agent.stop()
        self.executor.shut_down(self.settings.worker.drain_timeout_s if how == "Warm" else 0.0)
        self.executor.task_events.flush()
        if self.executor.tracing is not None:
            self.executor.tracing.stop()
        logger.info("worker %s has stopped", self.name)
        logging.shutdown()
        os._exit(0)


def _nothing_missed() -> None:
    """A cancellation that was published before the subscription is repeated by the next heartbeat."""


def machine_description(settings: Settings) -> dict[str, Any]:
    """The worker's machine, shown to operators: host name, process id, CUDA_VISIBLE_DEVICES and versions."""
    return {
        "host": platform.node(),
        "pid": os.getpid(),
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        "versions": software_versions(settings.runtimes_dir),
    }


def run(name: str, settings: Settings) -> None:
    """Run the worker with that name until SIGTERM or SIGINT.

    Raises `ConfigError` when the Redis server is not suitable.
    """
    worker = Worker(name, settings)
    check_server(worker.ledger.scripts.client, settings)
    worker.run()
