"""The order in which what waits for a thread or for the event loop gets it: tenants take turns."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Turns(Generic[Item]):
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

    def take(self) -> Item | None:
        """Remove the next item, and return it; None if there is none."""
        if not self._waiting:
            return None
        tenant = next(iter(self._waiting))
        queue = self._waiting.pop(tenant)
        item = queue.popleft()
        if queue:
            self._waiting[tenant] = queue
        return item


class LoopTurns:
    """Shares the event loop with one kind of work, of which `most` steps are done in each iteration.

    For the event loop's thread only.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: Turns[Callable[[], None]] = Turns()
        self._is_scheduled = False

    def wait(self, loop: asyncio.AbstractEventLoop, tenant: str | None, step: Callable[[], None]) -> None:
        """Call `step` when it is its turn, in a later iteration."""
        self._waiting.add(tenant, step)
        self._schedule(loop)

    async def turn(self, tenant: str | None) -> None:
        """Return when it is the turn of the caller's next step."""
        loop = asyncio.get_running_loop()
        come = asyncio.Event()
        self.wait(loop, tenant, come.set)
        await come.wait()

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._take_turns, loop)

    def _take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_scheduled = False
        for step in [self._waiting.take() for _ in range(self._most)]:
            if step is not None:
                step()
        if self._waiting:  # behind what the steps have woken, so that it can wait again before the next turn
            self._schedule(loop)
