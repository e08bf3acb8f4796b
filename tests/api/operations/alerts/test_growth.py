"""How much counters have grown within a window, with time as an argument."""

from __future__ import annotations

import pytest

from api.operations.alerts.growth import LONGEST_GAP_S, LONGEST_WINDOW_S, Growth, grown
from scheduler.counters import Counters

BEGIN = 1_700_000_040.0
"""The begin of a minute."""


def counters(failed: int = 0, completed: int = 0, **others: int) -> Counters:
    requests = [(["demo", "one", "failed"], str(failed)), (["demo", "two", "completed"], str(completed))]
    kinds = {"requests": requests, "refusals": [(["queue_full"], str(others.get("full", 0)))]}
    return Counters(kinds, {}, (), 0)


def test_the_growth_of_a_window_is_that_of_its_minutes() -> None:
    found = grown(None, counters(failed=5, completed=5), BEGIN)
    for step in range(1, 41):  # 10 minutes, with one failure in each of the first five
        found = grown(found, counters(failed=5 + min(step // 4, 5), completed=5 + step), BEGIN + 15 * step)
    assert found.within(900, "failed") == {"demo": 5}
    assert found.within(900, "ended") == {"demo": 45}
    assert found.within(300, "failed") == {}, "all of them are older"
    assert found.within(300, "ended") == {"demo": 17}, "the first step of the minute of the begin is left out"
    assert found.covered_s(300) == 240


def test_a_count_from_before_the_first_evaluation_is_no_growth() -> None:
    found = grown(None, counters(failed=5), BEGIN)
    assert (found.within(900, "failed"), found.covered_s(900)) == ({}, 1.0)


def test_growth_over_a_gap_is_not_counted_and_that_before_it_is_kept() -> None:
    found = grown(grown(None, counters(), BEGIN), counters(failed=1), BEGIN + 15)
    assert found.within(900, "failed") == {"demo": 1}
    after_gap = grown(found, counters(failed=9), BEGIN + 16 + LONGEST_GAP_S)
    assert after_gap.within(900, "failed") == {"demo": 1}
    later = grown(after_gap, counters(failed=11), BEGIN + 31 + LONGEST_GAP_S)
    assert later.within(900, "failed") == {"demo": 3}
    back = grown(found, counters(failed=9), BEGIN - 100)
    assert back.within(900, "failed") == {}, "the clock was set back"
    assert grown(back, counters(failed=10), BEGIN - 85).within(900, "failed") == {"demo": 1}


def test_a_window_is_covered_once_each_of_its_minutes_had_an_evaluation() -> None:
    found = grown(None, counters(), BEGIN)
    assert (found.covers(0), found.covers(300)) == (True, False)
    for minute in (1, 2, 5, 6, 7, 8):
        found = grown(found, counters(), BEGIN + 60 * minute)
        assert not found.covers(300)
    assert found.covered_s(300) == 180
    assert found.covered_s(900) == 360, "8 minutes without those of the gap"
    assert grown(found, counters(), BEGIN + 540).covers(300)
    assert not grown(found, counters(), BEGIN - 100).covers(300), "the clock was set back"


def test_a_counter_that_was_lost_counts_from_its_next_growth_on() -> None:
    found = grown(grown(None, counters(full=50), BEGIN), counters(full=3), BEGIN + 15)
    assert found.within(300, "queue_full") == {}, "3 of them are from before, or none: not known"
    assert grown(found, counters(full=5), BEGIN + 30).within(300, "queue_full") == {"": 2}


@pytest.mark.parametrize(
    "removed",
    [
        pytest.param({"one": 1000}, id="more-than-the-growth"),
        pytest.param({"one": 10}, id="less-than-the-growth"),
        pytest.param({"one": 10, "two": 1}, id="all-of-a-model"),
    ],
)
def test_requests_that_are_forgotten_with_their_tenant_change_no_growth(removed: dict[str, int]) -> None:
    """Of the requests of the other tenant five of six fail."""

    def requests(step: int) -> Counters:
        rows = [(["one", "left", "failed"], str(100 * step)), (["one", "left", "completed"], str(20 * step))]
        gone = [([model, "gone", "completed"], str(count)) for model, count in removed.items()]
        forgotten = [([model, "completed"], str(count)) for model, count in removed.items()]
        if step < 10:
            return Counters({"requests": rows + gone}, {}, (), 0)
        return Counters({"requests": rows, "forgotten_requests": forgotten}, {}, (), 0)

    found = grown(None, requests(0), BEGIN)
    for step in range(1, 20):
        found = grown(found, requests(step), BEGIN + 15 * step)
    assert {model: count for model, count in found.within(300, "failed").items() if count} == {"one": 1900}
    assert {model: count for model, count in found.within(300, "ended").items() if count} == {"one": 2280}


def test_minutes_before_the_longest_window_are_dropped() -> None:
    found = grown(None, counters(), BEGIN)
    for step in range(1, 200):
        found = grown(found, counters(completed=step), BEGIN + 15 * step)
    assert len(found.minutes) == LONGEST_WINDOW_S // 60


def test_growth_is_the_same_after_redis() -> None:
    found = grown(grown(None, counters(), BEGIN), counters(failed=1), BEGIN + 15)
    assert Growth.from_json(found.to_json()) == found
