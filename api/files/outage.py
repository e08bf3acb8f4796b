"""Bounds what a bucket that hangs takes of a process: its threads are those of all requests.

A call that fails after `SLOW_S` begins an outage. Until it ends, calls are refused at once, but for one at a
time that looks whether the bucket answers again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from store.errors import StorageUnavailable

SLOW_S = 3.0
"""An error that comes sooner is an answer, or a connection that was refused."""

RETRY_S = 10
WAIT_S = 1.0
"""How long a call waits for others to end before it is refused."""


class Outages:
    """The calls of one process: `most` at a time."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._until: float | None = None
        """The next look at a bucket in an outage."""

    @contextmanager
    def call(self) -> Iterator[None]:
        """Make a call. Raises `StorageUnavailable` instead of calling when that would be of no use."""
        self._begin()
        if not self._calls.acquire(timeout=WAIT_S):
            raise unavailable()
        began = self._clock()
        try:
            yield
        except FileNotFoundError:
            self._until = None
            raise
        except Exception:
            now = self._clock()
            if now - began >= SLOW_S:
                self._until = now + RETRY_S
            raise
        else:
            self._until = None
        finally:
            self._calls.release()

    def _begin(self) -> None:
        with self._lock:
            if self._until is None:
                return
            now = self._clock()
            if now < self._until:
                raise unavailable()
            self._until = now + RETRY_S  # for the others, while this one looks


def unavailable() -> StorageUnavailable:
    """The error of a bucket that does not answer."""
    message = "the bucket of the files (files.storage) cannot be reached; the log has the details"
    return StorageUnavailable(message, retry_after_s=RETRY_S)
