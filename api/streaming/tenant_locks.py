"""One at a time for each tenant: what costs more than the request that asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TenantLocks:
    """Locks by tenant. For the event loop's thread only."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}
        """Of each tenant that holds or awaits its lock, and by how many."""

    @asynccontextmanager
    async def hold(self, tenant: str) -> AsyncIterator[None]:
        """Hold the lock of a tenant."""
        lock, users = self._locks.get(tenant) or (asyncio.Lock(), 0)
        self._locks[tenant] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[tenant]
            if users == 1:
                del self._locks[tenant]
            else:
                self._locks[tenant] = lock, users - 1
