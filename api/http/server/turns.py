"""The order in which what waits for the event loop gets it: tenants take turns."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

from generation.tenant_turns import TenantTurns


class LoopTurns:
    """Shares the event loop with one kind of work, of which `most` steps are done in each iteration.

    With `longest_s`, fewer are done while iterations take longer than that, at least `least`: half as many
    after one that did, and one more after one that did not. For the event loop's thread only.
    """

    def __init__(
        self,
        most: int,
        least: int = 1,
        longest_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = self._now = most
        self._least = least
        self._longest_s, self._clock = longest_s, clock
        self._turned_at: float | None = None
        """When the last iteration's steps began; None if none waited after them: the loop may have slept."""
        self._waiting: TenantTurns[Callable[[], None]] = TenantTurns()
        self._is_scheduled = False
        self._at_once = 0
        """Steps of this iteration that `step` has done."""

    def step(self, loop: asyncio.AbstractEventLoop, tenant: str, step: Callable[[], None]) -> None:
        """Call `step` now, or in its turn if this iteration has had its steps or others wait."""
        if self._waiting or self._at_once >= self._now:
            self.wait(loop, tenant, step)
        else:
            self._at_once += 1
            self._schedule(loop)
            step()

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
        self._at_once = 0
        began = self._clock()
        if self._turned_at is not None and began - self._turned_at > self._longest_s:
            self._now = max(self._least, self._now // 2)
        else:
            self._now = min(self._most, self._now + 1)
        for step in [self._waiting.take() for _ in range(self._now)]:
            if step is not None:
                step()
        self._turned_at = began if self._waiting else None
        if self._waiting:  # behind what the steps have woken, so that it can wait again before the next turn
            self._schedule(loop)
