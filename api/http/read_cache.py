"""Values that are read at most once in an interval, however many requests ask for them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Read(Generic[T]):
    """A read that is under way or has ended. Its age counts from `since`, in seconds by the cache's clock."""

    since: float
    result: Future[T] = field(default_factory=Future)
    traceback: TracebackType | None = None
    """That of the read's error, which each raise would make longer."""

    def value(self) -> T:
        """Wait in this thread, and return what was read. Raises what the read raised."""
        error = self.result.exception()
        if error is not None:
            raise error.with_traceback(self.traceback)
        return self.result.result()


class ReadCache(Generic[T]):
    """Keeps what was read, by key. Everyone who asks while a key is being read gets that read's result.

    A value is `max_age_s` old at most: from the begin of its read, or with `from_end` from its end, for reads
    that may take longer than that. Those of the `max_keys` latest reads are kept. An error is raised for all
    who asked while it was read, and with `keeps_errors` for as long as a value would be kept. For threads and
    for coroutines of one event loop, which may share a key.
    """

    def __init__(
        self,
        max_age_s: float,
        max_keys: int = 1,
        *,
        keeps_errors: bool = False,
        from_end: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_age_s = max_age_s
        self._max_keys = max_keys
        self._keeps_errors = keeps_errors
        self._from_end = from_end
        self._clock = clock
        self._lock = threading.Lock()
        self._reads: dict[Hashable, _Read[T]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def get(self, key: Hashable, read: Callable[[], T], max_age_s: float | None = None) -> T:
        """Return the value of a key, which `read` reads in the calling thread. Raises what it raises.

        A thread of an event loop may not call this. `max_age_s` replaces that of the cache.
        """
        found, is_new = self._find(key, max_age_s)
        if is_new:
            try:
                self._end(found, read())
            except BaseException as error:
                self._fail(key, found, error)
        return found.value()

    async def get_async(
        self, key: Hashable, read: Callable[[], Awaitable[T]], max_age_s: float | None = None
    ) -> T:
        """Return the value of a key as `get` does, from a coroutine function.

        A read goes on when those who asked for it are cancelled.
        """
        found, is_new = self._find(key, max_age_s)
        if is_new:
            task = asyncio.create_task(self._run(key, found, read))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if found.result.done():
            return found.value()
        return await asyncio.wrap_future(found.result)

    def _find(self, key: Hashable, max_age_s: float | None) -> tuple[_Read[T], bool]:
        """Return the read that counts for a key, and whether the caller has to do it."""
        max_age_s = self._max_age_s if max_age_s is None else max_age_s
        now = self._clock()
        with self._lock:
            known = self._reads.get(key)
            if known is not None and (not known.result.done() or now - known.since < max_age_s):
                return known, False
            self._reads.pop(key, None)  # the order is that of the reads
            new: _Read[T] = _Read(now)
            new.result.set_running_or_notify_cancel()  # so that no coroutine that waits can cancel it
            self._reads[key] = new
            if len(self._reads) > self._max_keys:
                del self._reads[next(iter(self._reads))]
            return new, True

    async def _run(self, key: Hashable, found: _Read[T], read: Callable[[], Awaitable[T]]) -> None:
        try:
            self._end(found, await read())
        except BaseException as error:
            self._fail(key, found, error)
            if not isinstance(error, Exception):
                raise

    def _end(self, ended: _Read[T], value: T) -> None:
        if self._from_end:
            ended.since = self._clock()
        ended.result.set_result(value)

    def _fail(self, key: Hashable, failed: _Read[T], error: BaseException) -> None:
        if not self._keeps_errors:
            with self._lock:
                if self._reads.get(key) is failed:
                    del self._reads[key]
        if self._from_end:
            failed.since = self._clock()
        failed.traceback = error.__traceback__
        failed.result.set_exception(error)


class SharedRead(Generic[T]):
    """One value that is read in a thread of its own, which nothing else can keep busy.

    For coroutines of one event loop.
    """

    def __init__(
        self, read: Callable[[], T], max_age_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._cache: ReadCache[T] = ReadCache(max_age_s, keeps_errors=True, clock=clock)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="api-state")

    async def get(self) -> T:
        """Return the value. Raises what the read raised, for as long as a value would be kept."""
        return await self._cache.get_async(None, self._read_in_thread)

    async def _read_in_thread(self) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read)

    def stop(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)
