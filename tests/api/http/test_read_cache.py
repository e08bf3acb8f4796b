"""Values that are read once for all who ask at the same time, and kept for an interval."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from api.http.read_cache import ReadCache
from tests.support.waiting import scaled


def test_value_is_read_once_for_threads_and_coroutines_that_ask_meanwhile() -> None:
    cache: ReadCache[int] = ReadCache(5.0)
    began, gate = threading.Event(), threading.Event()

    def read() -> int:
        began.set()
        assert gate.wait(scaled(30))
        return 1

    async def read_async() -> int:
        raise AssertionError("a read is under way")

    async def ask(pool: ThreadPoolExecutor) -> None:
        thread = pool.submit(cache.get, "a", read)
        assert await asyncio.to_thread(began.wait, scaled(30))
        coroutines = [asyncio.create_task(cache.get_async("a", read_async)) for _ in range(3)]
        await asyncio.sleep(0)
        gate.set()
        assert await asyncio.gather(*coroutines, asyncio.wrap_future(thread)) == [1, 1, 1, 1]
        assert await cache.get_async("a", read_async) == 1

    with ThreadPoolExecutor(1) as pool:
        asyncio.run(ask(pool))


def test_read_goes_on_when_the_coroutine_that_began_it_is_cancelled() -> None:
    async def ask() -> None:
        cache: ReadCache[int] = ReadCache(5.0)
        gate = asyncio.Event()

        async def read() -> int:
            await gate.wait()
            return 1

        first = asyncio.create_task(cache.get_async("a", read))
        await asyncio.sleep(0)
        second = asyncio.create_task(cache.get_async("a", read))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        gate.set()
        assert await second == 1

    asyncio.run(ask())


def test_caller_may_ask_for_a_younger_value() -> None:
    now = 100.0
    cache: ReadCache[float] = ReadCache(1.0, clock=lambda: now)
    assert cache.get("a", lambda: now) == 100.0
    now = 100.5
    assert cache.get("a", lambda: now) == 100.0
    assert cache.get("a", lambda: now, max_age_s=0.1) == 100.5


@pytest.mark.parametrize("keeps_errors", [False, True])
def test_error_is_kept_as_long_as_a_value_only_if_the_cache_keeps_errors(keeps_errors: bool) -> None:
    now = 100.0
    cache: ReadCache[int] = ReadCache(5.0, keeps_errors=keeps_errors, clock=lambda: now)

    async def fail() -> int:
        raise ValueError("away")

    async def ask() -> None:
        nonlocal now
        with pytest.raises(ValueError, match="away"):
            await cache.get_async("a", fail)
        now = 104.9
        if keeps_errors:
            with pytest.raises(ValueError, match="away"):
                cache.get("a", lambda: 3)
            now = 105.0
        assert cache.get("a", lambda: 3) == 3

    asyncio.run(ask())


def test_a_result_is_computed_once_for_all_who_ask_meanwhile_and_again_when_it_is_old() -> None:
    now = 100.0
    results: ReadCache[int] = ReadCache(5.0, 10, clock=lambda: now)
    began, gate = threading.Event(), threading.Event()
    computed: list[int] = []

    def compute() -> int:
        computed.append(1)
        began.set()
        assert gate.wait(scaled(30))
        return len(computed)

    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(results.get, "a", compute)
        assert began.wait(scaled(30))
        others = [pool.submit(results.get, "a", compute) for _ in range(7)]
        assert results.get("b", lambda: 7) == 7  # another key does not wait
        gate.set()
        assert {one.result() for one in (first, *others)} == {1}
    now = 104.9
    assert results.get("a", compute) == 1
    now = 105.0
    assert results.get("a", compute) == 2


def test_an_error_is_not_kept() -> None:
    results: ReadCache[int] = ReadCache(5.0, 10, clock=lambda: 0.0)

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        results.get("a", fail)
    assert results.get("a", lambda: 3) == 3


def test_the_latest_results_are_kept_only() -> None:
    results: ReadCache[int] = ReadCache(5.0, 2, clock=lambda: 0.0)
    for key in ("a", "b", "c"):
        results.get(key, lambda: 1)
    assert [results.get(key, lambda: 2) for key in ("c", "b", "a")] == [1, 1, 2]


def test_kept_error_does_not_grow_each_time_it_is_raised() -> None:
    cache: ReadCache[int] = ReadCache(5.0, keeps_errors=True, clock=lambda: 0.0)

    def fail() -> int:
        raise ValueError("away")

    def frames() -> int:
        with pytest.raises(ValueError, match="away") as caught:
            cache.get("a", fail)
        return len(caught.traceback)

    assert len({frames() for _ in range(5)}) == 1


@pytest.mark.parametrize(("from_end", "reads"), [(False, 2), (True, 1)])
def test_age_counts_from_the_end_of_a_read_only_if_the_cache_is_made_so(from_end: bool, reads: int) -> None:
    now, values = 100.0, iter(range(10))
    cache: ReadCache[int] = ReadCache(1.0, from_end=from_end, clock=lambda: now)

    def read() -> int:
        nonlocal now
        now += 2.0
        return next(values)

    assert [cache.get("a", read) for _ in range(2)][-1] == reads - 1
