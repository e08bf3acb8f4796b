"""Counts the requests that this process refuses: by error code, and by tenant and code.

Other processes count their own.
"""

from __future__ import annotations

import threading
from collections import Counter

from api.http.errors import kind_of
from api.http.refused_requests import REFUSED_REQUESTS
from scheduler.counters import TenantCode
from store.errors import Failed, FailedInQueue, StokerError
from telemetry.request_ids import current_ids

OF_LIMITS = (429, 503)
"""The statuses of answers that are counted by tenant: a limit, or a platform that is busy."""

MAX_PAIRS = 2000
"""So many pairs of a tenant and a code are counted between two reports."""


class RejectionCounts:
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


class TenantRejectionCounts:
    """Thread-safe counts by tenant and code, at most `MAX_PAIRS` of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[TenantCode] = Counter()

    def add(self, tenant: str, code: str) -> None:
        """Count one request of a tenant."""
        with self._lock:
            if (tenant, code) in self._counts or len(self._counts) < MAX_PAIRS:
                self._counts[tenant, code] += 1

    def take(self) -> Counter[TenantCode]:
        """Return what was counted since the last call."""
        with self._lock:
            taken, self._counts = self._counts, Counter()
        return taken


REJECTIONS = RejectionCounts()
"""The refusals of this process since its last report."""

TENANT_REJECTIONS = TenantRejectionCounts()
"""Its answers with 429 or 503 to callers that it has identified, since its last report."""

TENANT_ERRORS = TenantRejectionCounts()
"""Its refusals of requests of such callers, with any code, since its last report."""


def count_rejection(error: StokerError, tenant: str | None = None) -> None:
    """Count an error answer: by its code, and by it and `tenant`, or that of the current request.

    The end of an admitted job is no refusal, as the ledger counts it; its answer with 429 or 503 counts for
    the tenant. A request whose caller is not identified counts for no tenant.
    """
    ids = current_ids.get()
    tenant = tenant or (ids.tenant if ids is not None else None)
    if not isinstance(error, Failed | FailedInQueue):
        REJECTIONS.add(error.code)
        if tenant is not None:
            TENANT_ERRORS.add(tenant, error.code)
        if ids is not None:
            REFUSED_REQUESTS.add(ids, error.code)
    if tenant is not None and kind_of(error.code).status in OF_LIMITS:
        TENANT_REJECTIONS.add(tenant, error.code)
