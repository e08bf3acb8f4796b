"""The order in which requests of several tenants get what they wait for: tenants take turns."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class TenantTurns(Generic[Item]):
    """Items that wait, of each tenant in the order of their arrival.

    A tenant with many of them delays each of another tenant by one. None is the tenant of items without one.
    """

    def __init__(self) -> None:
        self._waiting: dict[str | None, deque[Item]] = {}
        """The first tenant is the next one."""

    def __bool__(self) -> bool:
        """Whether any item waits."""
        return bool(self._waiting)

    def add(self, tenant: str | None, item: Item) -> None:
        """Add an item; a tenant that has none comes last."""
        self._waiting.setdefault(tenant, deque()).append(item)

    def first(self) -> Item | None:
        """Return the next item, which stays; None if there is none."""
        return next(iter(self._waiting.values()))[0] if self._waiting else None

    def take(self) -> Item | None:
        """Remove the next item, and return it; None if there is none. Its tenant comes last from then on."""
        if not self._waiting:
            return None
        tenant = next(iter(self._waiting))
        queue = self._waiting.pop(tenant)
        item = queue.popleft()
        if queue:
            self._waiting[tenant] = queue
        return item

    def remove(self, tenant: str | None, item: Item) -> None:
        """Remove an item that waits no longer."""
        queue = self._waiting[tenant]
        queue.remove(item)
        if not queue:
            del self._waiting[tenant]
