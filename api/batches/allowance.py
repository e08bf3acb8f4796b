"""What batches may use at a time, over all of them: the other room is for requests, and for other tenants.

Of the queue of a model, and of a tenant's part of it, batches fill a quarter; of a tenant's bound of running
jobs the half. A job that waits has the priority low, so a request that comes later goes first.

Of the processes that read documents, lines use one for each tenant, and half of all. In one turn of the
runner, which is one thread for all batches, all work for the batches of a tenant has `TURN_S`. The results of
one batch of a tenant are stored at a time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from api.inference.document_reader import MAX_RUNNING
from config.limits import Limits
from config.settings import Settings

TURN_S = 0.5
"""Beyond it, a tenant's batches begin no further step in this turn."""


class BatchAllowance:
    """Counts the jobs of batches, by tenant and model, and what their lines take of the runner's time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._of_tenant: Counter[str] = Counter()
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._reading: Counter[str] = Counter()
        self._spent_s: dict[str, float] = {}
        self._storing: set[str] = set()

    def begin_turn(self) -> None:
        """Forget the counts of the last turn: the runs count their jobs anew in each."""
        self._of_tenant.clear()
        self._waiting.clear()
        self._reading.clear()
        self._spent_s.clear()

    def add(self, tenant: str, model: str, *, waits: bool, reads: bool = False) -> None:
        """Count a job; one whose documents are being read `reads`."""
        self._of_tenant[tenant] += 1
        if waits:
            self._waiting[model, tenant] += 1
            self._waiting[model, ""] += 1
        if reads:
            self._reading[tenant] += 1

    def has_room(self, tenant: str, model: str, limits: Limits) -> bool:
        """Whether one more job may be admitted."""
        most = self._settings.batches.max_in_flight
        if limits.max_running is not None:
            most = min(most, max(1, limits.max_running // 2))
        return (
            self._of_tenant[tenant] < most
            and self._waiting[model, ""] < max(1, self._settings.queue.max_depth // 4)
            and self._waiting[model, tenant] < max(1, limits.max_waiting // 4)
        )

    def may_read(self, tenant: str) -> bool:
        """Whether the documents of one more line may be read."""
        most = max(1, MAX_RUNNING // 2)
        return not self._reading[tenant] and self._reading.total() < most

    def has_time(self, tenant: str) -> bool:
        """Whether the tenant's batches may begin a further step in this turn."""
        return self._spent_s.get(tenant, 0.0) < TURN_S

    def begin_storing(self, tenant: str) -> bool:
        """Whether the results of a batch of the tenant may be stored now. Then call `end_storing`."""
        if tenant in self._storing:
            return False
        self._storing.add(tenant)
        return True

    def end_storing(self, tenant: str) -> None:
        """The results are stored, or cannot be. Thread-safe."""
        self._storing.discard(tenant)

    @contextmanager
    def spending(self, tenant: str) -> Iterator[None]:
        """Count the time of what a tenant's batch does in this turn."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._spent_s[tenant] = self._spent_s.get(tenant, 0.0) + time.monotonic() - began
