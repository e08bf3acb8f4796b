"""The refused requests for models that go into the history with the next report of this process.

A tenant has a few of them in each report: the rest is counted only (`api.http.rejection_counts`).
"""

from __future__ import annotations

import threading
import time
from collections import Counter

from scheduler.request_history import RefusedRequest
from telemetry.request_ids import RequestIds

MAX_OF_TENANT, MAX_REQUESTS = 10, 200
"""So many refused requests of a tenant, and of all, are kept between two reports."""


class RefusedRequests:
    """Thread-safe: the refused requests since the last report."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[RefusedRequest] = []
        self._counts: Counter[str] = Counter()

    def add(self, ids: RequestIds, code: str) -> None:
        """Keep a refused request, unless it is none for a model, or there are enough of its tenant."""
        if not ids.client or ids.tenant is None:
            return
        with self._lock:
            is_full = len(self._requests) >= MAX_REQUESTS or self._counts[ids.tenant] >= MAX_OF_TENANT
            if is_full:
                return
            self._counts[ids.tenant] += 1
            now_us = int(time.time() * 1e6)
            self._requests.append(
                RefusedRequest(ids.request_id, ids.tenant, ids.model, code, now_us, ids.client)
            )

    def take(self) -> list[RefusedRequest]:
        """Return the requests since the last call."""
        with self._lock:
            taken, self._requests, self._counts = self._requests, [], Counter()
        return taken


REFUSED_REQUESTS = RefusedRequests()
"""Those of this process."""
