"""How many jobs of batches may wait and run at a time, over all batches: the other room is for requests.

Of the queue of a model, and of a tenant's part of it, batches fill a quarter; of a tenant's bound of running
jobs the half. A job that waits has the priority low, so a request that comes later goes first.
"""

from __future__ import annotations

from collections import Counter

from config.limits import Limits
from config.settings import Settings


class Window:
    """Counts the jobs of batches, by tenant and model."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._of_tenant: Counter[str] = Counter()
        self._waiting: Counter[tuple[str, str]] = Counter()

    def begin_turn(self) -> None:
        """Forget all counts: the runs count their jobs anew in each turn."""
        self._of_tenant.clear()
        self._waiting.clear()

    def add(self, tenant: str, model: str, *, waits: bool) -> None:
        """Count a job."""
        self._of_tenant[tenant] += 1
        if waits:
            self._waiting[model, tenant] += 1
            self._waiting[model, ""] += 1

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
