"""A value that is read at most once in an interval, whatever the number of requests that ask for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Reads a value in a thread of its own, one read at a time; all who ask meanwhile get that one's result.

    A value is `max_age_s` old at most, from the begin of its read. For the event loop's thread only.
    """

    def __init__(
        self, read: Callable[[], T], max_age_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._max_age_s = max_age_s
        self._thread: ThreadPoolExecutor | None = None
        self._result: asyncio.Future[T] | None = None
        self._began_at = 0.0

    async def get(self) -> T:
        """Return the value. Raises what the read raised, for as long as a value would be kept."""
        result = self._result
        now = self._clock()
        if result is None or (result.done() and now - self._began_at >= self._max_age_s):
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="api-state")
            loop = asyncio.get_running_loop()
            result = self._result = loop.run_in_executor(self._thread, self._read)
            self._began_at = now
        return await asyncio.shield(result)

    def stop(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
