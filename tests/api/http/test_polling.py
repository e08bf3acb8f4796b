"""Polls of one process happen at the same times."""

from __future__ import annotations

import asyncio

import pytest

from api.http.polling import sleep_until_tick, until_next_tick


def due_at(now: float, period_s: float) -> float:
    """The time of the next poll of a coroutine whose last one has ended at `now`."""

    async def read() -> float:
        asyncio.get_running_loop().time = lambda: now  # type: ignore[method-assign]
        return now + until_next_tick(period_s)

    loop = asyncio.SelectorEventLoop()
    try:
        return loop.run_until_complete(read())
    finally:
        loop.close()


@pytest.mark.parametrize("period_s", [0.5, 1.0, 3.0])
def test_polls_are_due_together_when_they_ended_at_different_times(period_s):
    times = [100 * period_s + period_s * share for share in (0.0, 0.1, 0.5, 0.999)]
    assert {round(due_at(now, period_s), 6) for now in times} == {101 * period_s}


def test_polls_of_a_longer_period_are_due_with_those_of_a_shorter_one():
    assert due_at(10.2, 0.5) == due_at(10.2, 0.25) + 0.25 == 10.5
    assert due_at(10.7, 1.0) == due_at(10.7, 0.5)


def test_pause_ends_after_at_most_a_period():
    asyncio.run(asyncio.wait_for(sleep_until_tick(0.01), 10))
