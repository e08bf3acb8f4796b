"""Counts the requests that this process refuses, by error code. Other processes count their own."""

from __future__ import annotations

import threading
from collections import Counter

from scheduler.errors import Failed, FailedInQueue, StokerError


class RefusalCounts:
    """Thread-safe counts by code."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, code: str) -> None:
        """Count one refusal."""
        with self._lock:
            self._counts[code] += 1

    def take(self) -> Counter[str]:
        """Return what was counted since the last call."""
        with self._lock:
            taken, self._counts = self._counts, Counter()
        return taken


REFUSALS = RefusalCounts()
"""The refusals of this process since its last report."""


def count_refusal(error: StokerError) -> None:
    """Count an error answer, unless it is the end of an admitted job: the ledger counts those."""
    if not isinstance(error, Failed | FailedInQueue):
        REFUSALS.add(error.code)
