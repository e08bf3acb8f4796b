"""Limits how many threads wait for a model, so that the others can answer short requests (/health)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from api.errors import ServerBusy


class ConcurrencyPermits:
    """The permits of one API process: one per thread, except for a sixteenth of them and at least two."""

    def __init__(self, threads: int) -> None:
        self.count = max(1, threads - max(2, threads // 16))
        self._free = threading.BoundedSemaphore(self.count)

    def acquire(self) -> Permit:
        """A permit. Raises `ServerBusy` when all are in use."""
        permit = self.try_acquire()
        if permit is None:
            raise ServerBusy("all threads of this server are waiting for models", retry_after_s=2)
        return permit

    def try_acquire(self) -> Permit | None:
        """A permit, or None when all are in use."""
        return Permit(self._free.release) if self._free.acquire(blocking=False) else None


class Permit:
    """The right of one request to wait for a model.

    A context manager: the end of the block releases the permit, unless the block has transferred it.
    """

    def __init__(self, release: Callable[[], None]) -> None:
        self._release: Callable[[], None] | None = release

    def transfer(self) -> Callable[[], None]:
        """Pass the permit to an owner that outlives the block, and return the function that releases it.

        The new owner calls that function exactly once.
        """
        release, self._release = self._release, None
        if release is None:
            raise RuntimeError("this permit was transferred or released before")
        return release

    def __enter__(self) -> Permit:
        """Hold the permit for the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the permit unless it was transferred."""
        if self._release is not None:
            self.transfer()()
