"""Turns at costly work: so many at a time for each tenant, so many in all, and a bound on those that wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from store.errors import StokerError


@dataclass(frozen=True, slots=True)
class Limit:
    """The most of one tenant, or of all tenants together.

    `running` requests at a time; `requests` and `bytes` with those that wait.
    """

    running: int
    requests: int
    bytes: int = 0


class TenantUse:
    """The requests of one tenant that work or wait, and their bytes."""

    __slots__ = ("bytes", "requests", "running")

    def __init__(self, running: int) -> None:
        self.requests = self.bytes = 0
        self.running = asyncio.Semaphore(running)


class FairSemaphore:
    """Turns at one kind of work, in the order of arrival. For the event loop's thread only.

    One request of each tenant is taken in any case. `refused` makes the error for one that is not; its
    argument is True when the tenant itself has as much as it may.
    """

    def __init__(self, of_tenant: Limit, of_all: Limit, refused: Callable[[bool], StokerError]) -> None:
        self._most, self._most_of_all = of_tenant, of_all
        self._refused = refused
        self._running = asyncio.Semaphore(of_all.running)
        self._by_tenant: dict[str, TenantUse] = {}

    @asynccontextmanager
    async def hold(self, tenant: str, size: int = 0) -> AsyncIterator[None]:
        """Wait for a turn, with `size` bytes in memory, and hold it. Raises the error of `refused`."""
        own = self._by_tenant.get(tenant) or TenantUse(self._most.running)
        if own.requests:
            self._check(own, size)
        self._by_tenant[tenant] = own
        own.requests += 1
        own.bytes += size
        try:
            # the tenant's first: then no tenant has more than its share of those that wait for the others
            async with own.running, self._running:
                yield
        finally:
            own.requests -= 1
            own.bytes -= size
            if not own.requests:
                del self._by_tenant[tenant]

    @property
    def requests(self) -> int:
        """How many requests work or wait."""
        return sum(one.requests for one in self._by_tenant.values())

    def _check(self, own: TenantUse, size: int) -> None:
        """Raise the error of `refused` for a further request of the tenant that is too much."""
        if own.requests >= self._most.requests or own.bytes + size > self._most.bytes:
            raise self._refused(True)
        of_all = sum(one.bytes for one in self._by_tenant.values()) + size
        if self.requests >= self._most_of_all.requests or of_all > self._most_of_all.bytes:
            raise self._refused(False)
