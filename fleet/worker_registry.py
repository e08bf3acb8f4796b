"""Registers workers, and ends jobs, loads and workers whose lease or deadline has passed."""

from __future__ import annotations

from dataclasses import dataclass

from config.settings import HistorySettings, LeaseSettings
from scheduler.request_history import history_bounds
from store.scripts import Scripts


@dataclass(frozen=True, slots=True)
class Expired:
    """What `expire` did: how many jobs, loads and workers it ended; whether to call it again at once.

    `ended` is -1 when it extended all leases instead, because Redis was down.
    """

    ended: int
    more: bool


class WorkerRegistry:
    """The beginning and the end of workers. Methods raise `StorageUnavailable`.

    A registration begins an incarnation: Redis ignores the calls of an earlier one. `Ledger.heartbeat` renews
    its lease.
    """

    def __init__(self, scripts: Scripts, lease: LeaseSettings, history: HistorySettings) -> None:
        self._history = history
        self._scripts = scripts
        self._lease_us = lease.lease_ms * 1000
        self.reap_ms = lease.reap_ms

    def register(self, worker: str, device: str, description: str = "{}") -> str:
        """Register a worker; returns its incarnation. Replicas of the former incarnation are lost."""
        incarnation: bytes = self._scripts.run(
            "register", worker=worker, lease_us=self._lease_us, device=device, description=description
        )
        return incarnation.decode()

    def begin_shutdown(self, worker: str, incarnation: str) -> None:
        """Dispatch no more jobs to this worker."""
        self._scripts.run("deregister", worker=worker, incarnation=incarnation, step="drain", message="")

    def deregister(self, worker: str, incarnation: str, message: str) -> None:
        """Remove a worker; its remaining replicas are lost with that message."""
        self._scripts.run("deregister", worker=worker, incarnation=incarnation, step="gone", message=message)

    def expire(self, interval_us: int = 0) -> Expired:
        """End jobs, loads and workers past their deadline or lease, and continue deferred work.

        Idempotent; every process calls it every `lease.reap_ms`. It does nothing when another process ran it
        less than `interval_us` ago.
        """
        ended, more = self._scripts.run(
            "expire",
            max_gap_us=max(2_000_000, self.reap_ms * 4000),
            lease_us=self._lease_us,
            interval_us=interval_us,
            **history_bounds(self._history),
        )
        return Expired(int(ended), bool(more))
