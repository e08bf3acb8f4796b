"""When the coroutines of a process that poll Redis do so: at the same times.

Each of them alone would wake the process and Redis. What is due together leaves in one write
(`store/async_connection.py`), and wakes both once.
"""

from __future__ import annotations

import asyncio


def until_next_tick(period_s: float) -> float:
    """Return the time (seconds) until the next multiple of the period on the clock of the running loop.

    It begins when the machine starts, so that the processes of other machines poll at other times.
    """
    return period_s - asyncio.get_running_loop().time() % period_s


async def sleep_until_tick(period_s: float) -> None:
    """Sleep until the next multiple of the period."""
    await asyncio.sleep(until_next_tick(period_s))
