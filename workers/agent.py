"""The worker's heart: heartbeats, hears cancel bells, and sees to it that what should be loaded is."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import redis

from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome
from fleet.recovery import Recovery
from scheduler.errors import Fenced, StokerError
from scheduler.ledger import Ledger
from tasks.lifecycle import ring
from workers.executor import Host
from workers.model_files import size_mib

logger = logging.getLogger("workers")

EX_TEMPFAIL = 75
"""The exit code of a worker whose incarnation is over: whoever supervises it starts a fresh one."""

EAR_S = 1.0
LOOK_EVERY_S = 2.0
FILES_EVERY_S = 30.0


class WorkerAgent:
    """Three threads: the heartbeat, the ear for cancels, and the look for what is missing."""

    def __init__(self, host: Host, ledger: Ledger, fleet: Fleet, listener: redis.Redis) -> None:
        self._host = host
        self._ledger = ledger
        self._fleet = fleet
        self._recovery = Recovery(fleet)
        self._listener: Any = listener
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._something_ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._told: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        host.replicas.on_end = self._something_ended.set

    def start(self) -> None:
        """Begin to heartbeat."""
        for target in (self._heartbeat, self._hear, self._look):
            thread = threading.Thread(target=target, name=target.__name__.strip("_"), daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop looking for work; the heartbeat goes on until the process ends, for the sake of what drains."""
        self._stopping.set()
        self._something_ended.set()

    def end(self) -> None:
        """End all three threads and wait for them: for a process that goes on without this worker."""
        self.stop()
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _heartbeat(self) -> None:
        period = self._ledger.settings.lease.beat_ms / 1000
        away = False
        while not self._ended.wait(period):
            try:
                self._host.check_stalls()
                reply = self._ledger.heartbeat(self._host.worker, self._host.incarnation)
                self._host.follow(reply, spawn)
                away = False
            except Fenced:
                self._fenced()
            except StokerError as error:
                if not away:
                    logger.warning("%s", error.message)
                away = True
            except Exception:
                logger.exception("a heartbeat stumbled; the heart goes on")

    def _fenced(self) -> None:
        if self._host.draining:
            return
        logger.error(
            "worker %s was given up or another one took its name: ending, so that a fresh one can start",
            self._host.worker,
        )
        self._host.kill()
        os._exit(EX_TEMPFAIL)

    def _hear(self) -> None:
        """Cancel bells; one that is lost is repeated by the next heartbeat."""
        channel = f"{self._ledger.scripts.prefix}bell:{self._host.worker}"
        while not self._ended.is_set():
            try:
                with self._listener.pubsub() as pubsub:
                    pubsub.subscribe(channel)
                    while not self._ended.is_set():
                        self._obey(pubsub.get_message(timeout=EAR_S))
            except (redis.ConnectionError, redis.TimeoutError, OSError):
                time.sleep(0.2)
            except Exception:
                logger.exception("the ear stumbled; it goes on")
                time.sleep(0.2)

    def _obey(self, message: Any) -> None:
        if message is not None and message["type"] == "message":
            verb, _, id = message["data"].decode().partition(" ")
            if verb == "cancel":
                self._host.stop_id(id, "cancelled")

    def _look(self) -> None:
        """See to it that what should be loaded is, and that everybody knows what there is room for."""
        files_due = 0.0
        # others may be registering in this moment: with them there, the replicas are spread better
        self._stopping.wait(self._ledger.settings.lease.beat_ms / 2000)
        while not self._stopping.is_set():
            try:
                self._host.replicas.memory_reporter.tell()
                if time.monotonic() >= files_due:
                    self._measure_files()
                    files_due = time.monotonic() + FILES_EVERY_S
                for change in (*self._recovery.resume_pending(), *self._recovery.replace_lost()):
                    self._ring(change)
                for name in self._recovery.missing():
                    self._bring(name)
            except StokerError as error:
                logger.debug("%s", error.message)  # the heartbeat has said it
            except Exception:
                logger.exception("looking for missing models failed; trying again")
            self._something_ended.wait(LOOK_EVERY_S)
            self._something_ended.clear()

    def _measure_files(self) -> None:
        """Tell how large the models' files are, where that is new."""
        sizes = {name: size_mib(model) for name, model in self._ledger.settings.models.items()}
        news = {name: size for name, size in sizes.items() if size and self._sizes.get(name) != size}
        self._fleet.report_artifacts(news)
        self._sizes |= news

    def _bring(self, name: str) -> None:
        """Load a model that should be loaded; what stands in its way is said once."""
        try:
            change = self._recovery.reload(name)
        except StokerError as error:
            if self._told.get(name) != error.code:
                logger.warning("%s should be loaded and is not: %s", name, error.message)
                self._fleet.report_load_error(name, error.message)
            self._told[name] = error.code
            return
        self._told.pop(name, None)
        self._ring(change)

    def _ring(self, change: LoadOutcome) -> None:
        for item in change.assignments[:1]:
            logger.info("%sing %s, as it should be", change.kind, item.replica.partition("#")[0])
        ring(change)


def spawn(call: Callable[[], object]) -> None:
    """Run something beside the heartbeat, which must not wait."""

    def run() -> None:
        try:
            call()
        except StokerError as error:
            logger.warning("%s", error.message)
        except Exception:
            logger.exception("a call of the heart failed")

    threading.Thread(target=run, daemon=True).start()
