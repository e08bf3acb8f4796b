"""Results by key that are computed at most once in an interval, whatever the number of requests that ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Computation(Generic[T]):
    began_at: float
    future: Future[T] = field(default_factory=Future)


class RecentResults(Generic[T]):
    """Computes a result in the thread that asks first; all who ask for its key meanwhile wait for that one.

    A result is `max_age_s` old at most, from the begin of its computation. The latest `max_count` are kept.
    """

    def __init__(self, max_age_s: float, max_count: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._max_age_s = max_age_s
        self._max_count = max_count
        self._lock = threading.Lock()
        self._computations: dict[str, _Computation[T]] = {}

    def get(self, key: str, compute: Callable[[], T]) -> T:
        """Return the result of a key. Raises what `compute` raised; then nothing is kept."""
        now = self._clock()
        with self._lock:
            known = self._computations.get(key)
            if known is not None and (not known.future.done() or now - known.began_at < self._max_age_s):
                theirs = known.future
            else:
                theirs = None
                self._computations.pop(key, None)  # the order is that of the computations
                mine: _Computation[T] = _Computation(now)
                self._computations[key] = mine
                if len(self._computations) > self._max_count:
                    del self._computations[next(iter(self._computations))]
        return self._compute(key, mine, compute) if theirs is None else theirs.result()

    def _compute(self, key: str, mine: _Computation[T], compute: Callable[[], T]) -> T:
        try:
            result = compute()
        except BaseException as error:
            with self._lock:
                if self._computations.get(key) is mine:
                    del self._computations[key]
            mine.future.set_exception(error)
            raise
        mine.future.set_result(result)
        return result
