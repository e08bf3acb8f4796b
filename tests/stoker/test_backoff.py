"""The delay before a restart."""

from __future__ import annotations

from stoker.managed_process import Backoff


def test_the_delay_doubles_up_to_ten_seconds():
    backoff = Backoff()

    assert [backoff.after(1) for _ in range(7)] == [0.5, 1, 2, 4, 8, 10, 10]


def test_the_delay_starts_over_after_30_seconds_of_uptime():
    backoff = Backoff()
    for _ in range(5):
        backoff.after(1)

    assert backoff.after(30) == 0.5
    assert backoff.after(29) == 1
