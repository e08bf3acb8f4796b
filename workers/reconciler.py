"""Brings a worker into the state that the answer to its heartbeat describes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from fleet.states import ReplicaState
from scheduler.job import HeartbeatReply
from store.errors import StokerError
from workers.executor import Executor
from workers.replica import Replica
from workers.replica_manager import REPORT_LOST

logger = logging.getLogger("workers")

Spawn = Callable[[Callable[[], object]], None]
"""Runs a call in another thread."""


class Reconciler:
    """Applies heartbeat replies to an executor.

    `spawn` runs calls that may take long in other threads, since the event loop must not wait for them.
    `heartbeat_s` is the time between two heartbeats.
    """

    def __init__(self, executor: Executor, heartbeat_s: float, spawn: Spawn) -> None:
        self._executor = executor
        self._replicas = executor.replicas
        self._heartbeat_s = heartbeat_s
        self._spawn = spawn
        self._contradicted: dict[str, float] = {}  # replica -> since when (time.monotonic())

    def apply(self, reply: HeartbeatReply) -> None:
        """Stop cancelled and fenced jobs, ask for lost claims; load, unload, flush replicas. On the loop."""
        for id in reply.cancelled:
            self._executor.cancel_job(id)
        self._executor.reconcile_jobs(reply.running, 2 * self._heartbeat_s)
        for name, operations in reply.flushes.items():
            for operation in operations:
                self._spawn(partial(self._executor.flush, name, operation))
        self._executor.files.reconcile(reply.file_work, 2 * self._heartbeat_s)
        for name, state in reply.replicas.items():
            self._reconcile_replica(name, state)
        for replica in list(self._replicas.by_name.values()):
            if replica.name not in reply.replicas:
                self._stop_unknown(replica)
        self._end_contradicted(reply)

    def _reconcile_replica(self, name: str, wanted: str) -> None:
        """Load or unload a replica so that it reaches the state in the ledger."""
        replica = self._replicas.get(name)
        if wanted == ReplicaState.ASSIGNED and replica is None and not self._executor.draining:
            self._spawn(lambda: self._executor.load(name))
        elif wanted == ReplicaState.STOPPING and replica is None:
            self._spawn(lambda: self._replicas.report_missing(name))
        elif wanted == ReplicaState.STOPPING and replica is not None:
            if replica.state is ReplicaState.STARTING:
                self._replicas.cancel_start(replica.name)
            elif replica.state is ReplicaState.UP:
                self._spawn(lambda: self._executor.unload(name))

    def _end_contradicted(self, reply: HeartbeatReply) -> None:
        """End replicas whose state here has contradicted the ledger's for two beats: Redis lost a report.

        A reply may be older than a report, so one is not enough.
        """
        now = time.monotonic()
        names = [name for name, state in reply.replicas.items() if self._contradicts(name, state)]
        self._contradicted = {name: self._contradicted.get(name, now) for name in names}
        for name, since in self._contradicted.items():
            if now - since >= 2 * self._heartbeat_s:
                self._spawn(partial(self._replicas.report_lost, name, REPORT_LOST))

    def _contradicts(self, name: str, wanted: str) -> bool:
        if self._replicas.starts(name):
            return False
        replica = self._replicas.get(name)
        if wanted == ReplicaState.UP:
            return replica is None
        return wanted == ReplicaState.STARTING or (wanted == ReplicaState.ASSIGNED and replica is not None)

    def _stop_unknown(self, replica: Replica) -> None:
        """Stop a replica that the ledger does not list: its load was abandoned, or its end was reported."""
        if replica.state is ReplicaState.STARTING:
            self._replicas.cancel_start(replica.name)
        elif replica.state is ReplicaState.UP and replica.claim_end():
            replica.end_reported.set()
            logger.warning("%s is not in the ledger any more: stopping it", replica.name)
            self._spawn(lambda: self._replicas.stop(replica, "", ""))


def spawn_thread(call: Callable[[], object]) -> None:
    """Run a call in a daemon thread; its exceptions are logged."""

    def run() -> None:
        try:
            call()
        except StokerError as error:
            logger.warning("%s", error.message)
        except Exception:
            logger.exception("a call started by the heartbeat failed")

    threading.Thread(target=run, daemon=True).start()
