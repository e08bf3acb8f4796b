"""What the rules compare with their thresholds."""

from __future__ import annotations

from dataclasses import replace

from api.operations.alerts import measures
from api.operations.alerts.growth import Growth, grown
from api.operations.alerts.measures import Reading
from api.operations.alerts.rules import BY_NAME
from api.operations.metrics.collector import PlatformState
from config.limits import Budget
from scheduler.budgets import BudgetUse
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


def test_the_budget_of_a_tenant_is_its_larger_share_and_has_two_bounds() -> None:
    soft, none = Budget(100, 10, 0.8), Budget(100)
    state = replace(
        reading(Growth(BEGIN, BEGIN)).state,
        budgets={
            "near": BudgetUse(soft, 79, 7.9, 0),
            "soft": BudgetUse(soft, 80, 0.0, 0),
            "used": BudgetUse(soft, 5, 10.0, 0),
            "without": BudgetUse(none, 100, 99.0, 0),
        },
    )
    found = Reading(state, Growth(BEGIN, BEGIN))
    assert measures.budgets_beyond_soft(found) == {"soft": 0.8, "used": 1.0}
    exceeded = BY_NAME["StokerTenantBudgetExceeded"]
    assert exceeded.measure is not None
    shares = exceeded.measure(found)
    assert {tenant for tenant, share in shares.items() if exceeded.holds(share)} == {"used", "without"}
    assert exceeded.text("used", 1.0).startswith("Tenant used has used 100 % of its budget")
