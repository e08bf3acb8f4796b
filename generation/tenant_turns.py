"""The order in which requests of several tenants get what they wait for: tenants take turns."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class TenantTurns(Generic[Item]):
    """Items that wait, of each tenant in the order of their arrival.

    A tenant with many of them delays each of another tenant by one. One that has had no turn in the current
    round comes before all that have, so a tenant with few items waits for none of those with many, of which
    each still gets its turn in each round (RFC 8290, 4.2: the new flows of FQ-CoDel). None is the tenant of
    items without one.
    """

    def __init__(self) -> None:
        self._new: dict[str | None, deque[Item]] = {}
        """Tenants without a turn in this round; the first is the next."""
        self._old: dict[str | None, deque[Item]] = {}
        """Those that have had one; they stay without items, too, until they would be next."""
        self._count = 0

    def __bool__(self) -> bool:
        """Whether any item waits."""
        return self._count > 0

    def waiting(self, tenant: str | None) -> int:
        """How many items of the tenant wait."""
        return len(self._queue(tenant) or ())

    def add(self, tenant: str | None, item: Item) -> None:
        """Add an item."""
        queue = self._queue(tenant)
        if queue is None:
            queue = self._new[tenant] = deque()
        queue.append(item)
        self._count += 1

    def first(self) -> Item | None:
        """Return the next item, which stays; None if there is none."""
        return next((queue[0] for turns in (self._new, self._old) for queue in turns.values() if queue), None)

    def take(self) -> Item | None:
        """Remove the next item, and return it; None if there is none. Its tenant comes last from then on."""
        while self._count:
            turns = self._new or self._old
            tenant = next(iter(turns))
            queue = turns.pop(tenant)
            if queue:
                self._old[tenant] = queue
                return self._removed(queue.popleft())
        return None

    def remove(self, tenant: str | None, item: Item) -> None:
        """Remove an item that waits no longer."""
        queue = self._queue(tenant)
        if queue is None:
            raise ValueError(f"nothing of {tenant} waits")
        queue.remove(item)
        self._removed(item)

    def _queue(self, tenant: str | None) -> deque[Item] | None:
        queue = self._new.get(tenant)
        return self._old.get(tenant) if queue is None else queue

    def _removed(self, item: Item) -> Item:
        self._count -= 1
        if not self._count:
            self._new.clear()
            self._old.clear()
        return item
