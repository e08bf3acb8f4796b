"""The worker's heart: beats, hears cancel bells, and sees to it that what should be loaded is."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import redis

from fleet.models import Fleet
from scheduler.errors import Fenced, StokerError
from scheduler.ledger import Ledger
from tasks.lifecycle import ring
from workers.host import Host

logger = logging.getLogger("workers")

EX_TEMPFAIL = 75
"""The exit code of a worker whose incarnation is over: whoever supervises it starts a fresh one."""

LOOK_EVERY_S = 2.0


class Heart:
    """Three threads: the beat, the ear for cancels, and the look for what is missing."""

    def __init__(self, host: Host, ledger: Ledger, fleet: Fleet, listener: redis.Redis) -> None:
        self._host = host
        self._ledger = ledger
        self._fleet = fleet
        self._listener: Any = listener
        self._stopping = threading.Event()
        self._told: dict[str, str] = {}

    def start(self) -> None:
        """Begin to beat."""
        for target in (self._beat, self._hear, self._look):
            threading.Thread(target=target, name=target.__name__.strip("_"), daemon=True).start()

    def stop(self) -> None:
        """Stop looking for work; the beat goes on until the process ends, for the sake of what drains."""
        self._stopping.set()

    def _beat(self) -> None:
        period = self._ledger.settings.lease.beat_ms / 1000
        away = False
        while True:
            time.sleep(period)
            try:
                self._host.check_stalls()
                pulse = self._ledger.beat(self._host.worker, self._host.incarnation)
                self._host.follow(pulse, spawn)
                away = False
            except Fenced:
                self._fenced()
            except StokerError as error:
                if not away:
                    logger.warning("%s", error.message)
                away = True
            except Exception:
                logger.exception("a beat stumbled; the heart goes on")

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
        """Cancel bells; one that is lost is repeated by the next beat."""
        channel = f"{self._ledger.scripts.prefix}bell:{self._host.worker}"
        while True:
            try:
                pubsub = self._listener.pubsub()
                pubsub.subscribe(channel)
                for message in pubsub.listen():
                    if message["type"] == "message":
                        verb, _, id = message["data"].decode().partition(" ")
                        if verb == "cancel":
                            self._host.stop_id(id, "cancelled")
            except (redis.ConnectionError, redis.TimeoutError, OSError):
                time.sleep(0.2)
            except Exception:
                logger.exception("the ear stumbled; it goes on")
                time.sleep(0.2)

    def _look(self) -> None:
        # others may be registering in this moment: with them there, the replicas are spread better
        self._stopping.wait(self._ledger.settings.lease.beat_ms / 2000)
        while not self._stopping.is_set():
            try:
                for name in self._fleet.missing():
                    self._bring(name)
            except StokerError as error:
                logger.debug("%s", error.message)  # the beat has said it
            except Exception:
                logger.exception("looking for missing models failed; trying again")
            self._stopping.wait(LOOK_EVERY_S)

    def _bring(self, name: str) -> None:
        """Load a model that should be loaded; what stands in its way is said once."""
        try:
            change = self._fleet.load(name, self._fleet.row(name).replicas)
        except StokerError as error:
            if self._told.get(name) != error.message:
                logger.warning("%s should be loaded and is not: %s", name, error.message)
            self._told[name] = error.message
            return
        self._told.pop(name, None)
        if change.assignments:
            logger.info("loading %s, which should be loaded", name)
            ring(change)


def spawn(call: Callable[[], object]) -> None:
    """Run something beside the beat, which must not wait."""

    def run() -> None:
        try:
            call()
        except StokerError as error:
            logger.warning("%s", error.message)
        except Exception:
            logger.exception("a call of the heart failed")

    threading.Thread(target=run, daemon=True).start()
