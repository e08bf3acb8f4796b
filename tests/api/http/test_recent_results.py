"""Results that are computed once for all who ask at the same time, and kept for an interval."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from api.http.recent_results import RecentResults

from tests.support.waiting import scaled


def test_a_result_is_computed_once_for_all_who_ask_meanwhile_and_again_when_it_is_old() -> None:
    now = 100.0
    results: RecentResults[int] = RecentResults(5.0, 10, lambda: now)
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
    results: RecentResults[int] = RecentResults(5.0, 10, lambda: 0.0)

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        results.get("a", fail)
    assert results.get("a", lambda: 3) == 3


def test_the_latest_results_are_kept_only() -> None:
    results: RecentResults[int] = RecentResults(5.0, 2, lambda: 0.0)
    for key in ("a", "b", "c"):
        results.get(key, lambda: 1)
    assert [results.get(key, lambda: 2) for key in ("c", "b", "a")] == [1, 1, 2]
