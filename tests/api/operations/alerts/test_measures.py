"""What the rules compare with their thresholds."""

from __future__ import annotations

from api.operations.alerts import measures
from api.operations.alerts.growth import Growth, grown
from api.operations.alerts.measures import Reading
from api.operations.metrics.collector import PlatformState
from scheduler.counters import Counters

BEGIN = 1_700_000_040.0
BOUNDS = {"queue_wait": (1_000_000, 10_000_000, 60_000_000)}


def counters(factor: int) -> Counters:
    """Counters that grow with the factor."""
    numbers = {
        "requests": {("demo", "t", "failed"): 1, ("demo", "t", "completed"): 3, ("idle", "t", "failed"): 0},
        "crashes": {("demo",): 2},
        "queue_wait": {("demo", "normal", "3"): 10, ("demo", "high", "sum"): 99, ("quick", "low", "1"): 1},
        "refusals": {("queue_full",): 6, ("rate_limit_exceeded",): 7},
        "expired": {("worker",): 1, ("lease",): 4},
    }
    kinds = {
        kind: [(list(labels), str(factor * number)) for labels, number in of_kind.items()]
        for kind, of_kind in numbers.items()
    }
    return Counters(kinds, BOUNDS, ({"loop_lag_s": 0.5}, {"loop_lag_s": 1.5}), 3)


def reading(growth: Growth) -> Reading:
    return Reading(PlatformState(counters(2), [], [], []), growth)


def test_measures_are_those_of_the_growth_since_the_evaluations_began() -> None:
    found = reading(grown(grown(None, counters(1), BEGIN), counters(2), BEGIN + 30))
    assert measures.failing_share(found) == {"demo": 0.25}
    assert measures.crashes(found) == {"demo": 2}
    assert measures.refusals_of_full_queues(found) == {"": 0.2}
    assert measures.lost_workers(found) == {"": 1}
    assert measures.waits(found) == {"demo": 57.5, "quick": 0.95}


def test_measures_of_the_moment_are_those_of_the_state() -> None:
    found = reading(Growth(BEGIN, BEGIN))
    assert measures.loop_lag(found) == {"": 1.5}
    assert measures.uncounted_requests(found) == {"": 3}
    assert measures.failing_share(found) == {}, "no request has ended: nothing fails"
    assert measures.waits(found) == {}
