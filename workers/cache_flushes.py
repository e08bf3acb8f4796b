"""Carries out the flushes of one worker: each of its engines drops what is cached for old namespaces."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

from engines.engine_process.errors import EngineLost
from fleet.fleet import Fleet
from fleet.flush import FlushCount
from workers.current_namespaces import CurrentNamespaces, ReadEpochs
from workers.replica_manager import ReplicaManager

logger = logging.getLogger("workers")

POLL_S = 0.05
ENGINE_TIMEOUT_S = 10.0
"""How long an engine may take to answer: it reads the request after the step that it computes."""

NO_ANSWER = (
    f"the engine did not answer within {ENGINE_TIMEOUT_S:g} s; it drops the entries when it responds again"
)
FLUSH_FAILED = "the engine failed to drop the entries; no later request can reach them"


class CacheFlushes:
    """Flushes the engines of `replicas`. `flush` may be called from any thread but the loop's."""

    def __init__(
        self,
        fleet: Fleet,
        replicas: ReplicaManager,
        namespaces: CurrentNamespaces,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._fleet = fleet
        self._replicas = replicas
        self._namespaces = namespaces
        self._loop = loop
        self._under_way: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def flush(self, replica: str, operation: str) -> str:
        """Drop the cached prefixes that a flush covers from the replica's engine, and report it."""
        with self._lock:
            if (replica, operation) in self._under_way:  # a heartbeat asks again
                return "already here"
            self._under_way.add((replica, operation))
        try:
            return self._flush(replica, operation)
        finally:
            self._under_way.discard((replica, operation))

    def _flush(self, replica: str, operation: str) -> str:
        retry = self._replicas.retry
        while (
            turn := retry.retry_until_stopped(lambda: self._fleet.flush_turn(replica, operation))
        ) == "wait":
            time.sleep(POLL_S)
        if turn == "over":
            return "nothing to do"
        count = self._drop(replica, retry.retry_until_stopped(self._namespaces.read))
        worker, incarnation = self._replicas.worker, self._replicas.incarnation
        retry.retry_until_stopped(
            lambda: self._fleet.replica_flushed(replica, worker, incarnation, operation, count)
        )
        removed = "an uncounted number of entries" if count.entries is None else f"{count.entries} entries"
        logger.info("%s: %s were removed from its cache", replica, removed)
        return removed

    def _drop(self, replica: str, read: ReadEpochs) -> FlushCount:
        try:
            return asyncio.run_coroutine_threadsafe(self._drop_old(replica, read), self._loop).result()
        except EngineLost as error:
            return FlushCount(reason=f"the engine ended, and its cache with it: {error}")
        except Exception:
            logger.exception("%s could not be flushed", replica)
            return FlushCount(reason=FLUSH_FAILED)

    async def _drop_old(self, name: str, read: ReadEpochs) -> FlushCount:
        """Use the raised epochs, and let the engine drop all but the namespaces that are still present ones.

        The jobs that are submitted from here on are checked against the same epochs.
        """
        self._namespaces.adopt(read)
        replica = self._replicas.get(name)
        if replica is None or replica.engine is None:
            return FlushCount(0, 0.0)
        try:
            return await asyncio.wait_for(
                replica.engine.flush(self._namespaces.kept(name)), timeout=ENGINE_TIMEOUT_S
            )
        except TimeoutError:
            return FlushCount(reason=NO_ANSWER)
