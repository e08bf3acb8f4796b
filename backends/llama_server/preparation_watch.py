"""Ends a request whose prompt the server never finishes: a chat template may loop for certain messages.

The server prepares a request in a thread of its own, which nothing can end, before its slot works on it.
While the request waits for others instead, its slot is working, or the server does not answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

CHECK_INTERVAL_S = 1.0


@asynccontextmanager
async def watch_preparation(
    limit_s: float, is_idle: Callable[[], Awaitable[bool]]
) -> AsyncIterator[Callable[[], None]]:
    """Raise TimeoutError in the block when `is_idle` holds twice in a row, `limit_s` after its begin.

    `is_idle` tells whether the slot of the request works on nothing. Yields what to call when the server has
    begun to answer, which ends the watch.
    """
    loop = asyncio.get_running_loop()
    checks: list[asyncio.Task[None]] = []

    async def check() -> None:
        times = 0
        while times < 2:
            times = times + 1 if await is_idle() else 0
            await asyncio.sleep(CHECK_INTERVAL_S)
        timeout.reschedule(loop.time())

    timer = loop.call_later(limit_s, lambda: checks.append(loop.create_task(check())))

    def stop() -> None:
        timer.cancel()
        for task in checks:
            task.cancel()

    try:
        async with asyncio.timeout(None) as timeout:
            yield stop
    finally:
        stop()
