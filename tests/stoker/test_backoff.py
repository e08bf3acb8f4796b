"""How long to wait after a death."""

from __future__ import annotations

from stoker.backoff import Backoff


def test_the_wait_doubles_up_to_ten_seconds():
    backoff = Backoff()

    assert [backoff.after(1) for _ in range(7)] == [0.5, 1, 2, 4, 8, 10, 10]


def test_after_half_a_minute_of_life_it_begins_anew():
    backoff = Backoff()
    for _ in range(5):
        backoff.after(1)

    assert backoff.after(30) == 0.5
    assert backoff.after(29) == 1
