"""Runs `WorkerRegistry.expire` in every API process and every worker; no leader is needed."""

from __future__ import annotations

import logging
import random
import threading

from fleet.worker_registry import WorkerRegistry
from store.errors import StokerError

logger = logging.getLogger("scheduler")

PAUSE_S = 0.01
"""Between two steps of unfinished work: other calls have the server meanwhile."""


class Reaper:
    """A thread that calls `expire` about every `lease.reap_ms`, and at once while work is unfinished.

    Of many processes that call it, one does the work: the others' calls return at once.
    """

    def __init__(self, registry: WorkerRegistry) -> None:
        self._registry = registry
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reaper", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its current call."""
        self._stop.set()

    def _run(self) -> None:
        unreachable = False
        period = self._registry.reap_ms / 1000
        while not self._stop.wait(period * random.uniform(0.8, 1.2)):  # noqa: S311 - only to spread the calls
            try:
                self._expire()
                unreachable = False
            except StokerError as error:
                if not unreachable:
                    logger.warning("%s", error.message)
                unreachable = True
            except Exception:
                logger.exception("the reaper failed; it tries again")

    def _expire(self) -> None:
        # half of the period is less than the time between two calls of this process: it never calls too early
        more = self._registry.expire(self._registry.reap_ms * 500).more
        while more and not self._stop.wait(PAUSE_S):
            more = self._registry.expire().more
