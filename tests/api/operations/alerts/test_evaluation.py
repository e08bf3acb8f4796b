"""Each change of an alert's state, with time as an argument."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from api.operations.alerts.evaluation import (
    MAX_INSTANCES,
    RESOLVED_KEPT_S,
    Evaluation,
    Transition,
    evaluate,
    instances_of,
)
from api.operations.alerts.growth import LONGEST_GAP_S
from api.operations.alerts.rules import BY_NAME, Rule
from api.operations.metrics.collector import PlatformState
from scheduler.counters import Counters

BEGIN = 1_700_000_000.0
HOLD_S = 60


class Course:
    """Evaluations of one rule at the times that a test gives."""

    def __init__(self, hold_s: int = HOLD_S) -> None:
        self.values: Mapping[str, float] = {}
        measure = lambda _: self.values  # noqa: E731 - the rule calls it with each reading
        self.rule = Rule(
            "Hot", "warning", "heat", ">", 50, hold_s, "{label} has {value}", "gpu", measure=measure
        )
        self.found: Evaluation | None = None

    def at(self, seconds: float, **values: float) -> list[tuple[str, str, str]]:
        """Evaluate with these values; the transitions."""
        self.values = values
        self.found, made = evaluate(self.found, nothing(), BEGIN + seconds, [self.rule])
        return [(one.label, one.was, one.state) for one in made]

    @property
    def states(self) -> dict[str, tuple[str, float]]:
        assert self.found is not None
        return {one.label: (one.state, one.since - BEGIN) for one in self.found.instances}


def nothing(pending: int = 0) -> PlatformState:
    return PlatformState(Counters({}, {}, (), pending), [], [], [])


def test_an_alert_fires_once_its_rule_was_true_for_its_time_and_is_resolved_after_it() -> None:
    course = Course()
    assert course.at(0, a=50) == []
    assert course.states == {}, "50 is not more than 50"
    assert course.at(15, a=51) == []
    assert course.states == {"a": ("pending", 15)}
    assert course.at(60, a=70) == []
    assert course.at(75, a=80) == [("a", "pending", "firing")]
    assert course.at(90, a=90) == [], "it is reported once"
    assert course.states == {"a": ("firing", 75)}
    assert course.found is not None
    assert course.found.firing == {"Hot"}
    assert course.at(105, a=10) == [("a", "firing", "resolved")]
    assert course.at(120) == []
    assert course.states == {"a": ("resolved", 105)}
    (kept,) = course.found.instances
    assert kept.value == 90, "the latest for which the rule was true"


def test_a_pending_alert_ends_unreported_when_its_rule_is_not_true_once() -> None:
    course = Course()
    course.at(0, a=51)
    assert course.at(45, a=1) == []
    assert course.states == {}
    assert course.at(60, a=51) == []
    assert course.states == {"a": ("pending", 60)}


def test_an_alert_without_a_duration_fires_at_once() -> None:
    course = Course(hold_s=0)
    assert course.at(0, a=51) == [("a", "inactive", "firing")]


def test_a_resolved_alert_fires_again_after_its_time() -> None:
    course = Course()
    for seconds in (0, 60):
        course.at(seconds, a=51)
    course.at(75)
    assert course.at(90, a=51) == []
    assert course.states == {"a": ("pending", 90)}
    assert course.at(150, a=51) == [("a", "pending", "firing")]


def test_a_resolved_alert_is_kept_for_a_day() -> None:
    course = Course(hold_s=0)
    course.at(0, a=51)
    course.at(15)
    course.at(14 + RESOLVED_KEPT_S)
    assert course.states == {"a": ("resolved", 15)}
    course.at(15 + RESOLVED_KEPT_S)
    assert course.states == {}


def test_a_gap_begins_the_time_of_a_pending_alert_again_and_resolves_nothing() -> None:
    course = Course()
    for seconds in (0, 60):
        course.at(seconds, a=51)
    course.at(60, a=51, b=51)
    later = 61 + LONGEST_GAP_S
    assert course.at(later, a=51, b=51) == []
    assert course.states == {"a": ("firing", 60), "b": ("pending", later)}


def failing(requests: int) -> PlatformState:
    """A platform of whose requests to `demo` all have failed."""
    return PlatformState(
        Counters({"requests": [(["demo", "one", "failed"], requests)]}, {}, (), 0), [], [], []
    )


@pytest.mark.parametrize("gap_s", [90, 3600])
def test_an_alert_about_growth_fires_on_over_a_gap_and_is_resolved_once_its_window_is_known(
    gap_s: int,
) -> None:
    rules = [BY_NAME["StokerRequestsFail"], BY_NAME["StokerQueueFull"]]
    found, made = evaluate(None, failing(0), BEGIN, rules)
    requests, reported = 0, []

    def advance(seconds: int, *, more: int) -> None:
        nonlocal found, requests
        for _ in range(seconds // 15):
            requests += more
            found, made = evaluate(found, failing(requests), found.at + 15, rules)
            reported.extend([(one.label, one.state) for one in made])

    advance(600, more=1)
    assert reported == [("demo", "firing")]
    found, made = evaluate(found, failing(requests + 50), found.at + gap_s, rules)
    assert made == []
    advance(600, more=1)
    assert reported == [("demo", "firing")], "it was true before the gap and is after it"
    found, made = evaluate(found, failing(requests), found.at + gap_s, rules)
    assert made == []
    advance(180, more=0)
    assert reported == [("demo", "firing")], "too little of its window is known"
    advance(300, more=0)
    assert reported == [("demo", "firing"), ("demo", "resolved")]


def test_a_clock_that_is_set_back_begins_the_time_of_a_pending_alert_again() -> None:
    course = Course()
    course.at(0, a=51)
    course.at(60, a=51)
    course.at(60, a=51, b=51)
    assert course.at(-3600, a=51, b=51) == []
    assert course.states == {"a": ("firing", -3600), "b": ("pending", -3600)}
    assert course.at(HOLD_S - 3600, a=51, b=51) == [("b", "pending", "firing")]


def test_the_instances_of_a_rule_are_bounded_and_those_that_are_known_stay() -> None:
    course = Course(hold_s=0)
    course.at(0, zz=51)
    many = {f"a{number:04}": 51.0 for number in range(2 * MAX_INSTANCES)}
    assert len(course.at(15, zz=51, **many)) == MAX_INSTANCES - 1
    assert course.states["zz"] == ("firing", 0)
    assert len(course.states) == MAX_INSTANCES


def test_resolved_alerts_leave_room_for_new_ones_and_those_resolved_first_are_dropped() -> None:
    course = Course(hold_s=0)
    many = {f"a{number:03}": 51.0 for number in range(MAX_INSTANCES)}
    course.at(0, zz=51)
    course.at(15)
    course.at(30, **many)
    assert "zz" not in course.states, "it was resolved before all others"
    course.at(45, a000=51)
    assert course.at(60, a000=51, a001=51, new=51) == [
        ("a001", "inactive", "firing"),
        ("new", "inactive", "firing"),
    ]
    assert len(course.states) == MAX_INSTANCES
    assert course.states.keys() >= {"a000", "a001", "new"}


def test_instances_are_the_same_after_redis() -> None:
    course = Course(hold_s=0)
    course.at(0, a=51)
    assert course.found is not None
    assert instances_of(course.found.instances_json()) == (BEGIN, course.found.instances)


def test_a_transition_has_one_id_and_another_one_has_another() -> None:
    rule = BY_NAME["StokerModelFailed"]
    made = {
        Transition(rule, label, "pending", state, at, 1).id
        for label in ("a", "b")
        for state in ("firing", "resolved")
        for at in (1.0, 2.0)
    }
    assert len(made) == 8
    assert Transition(rule, "a", "pending", "firing", 1.0, 1).id in made


def test_the_rules_of_the_platform_find_what_they_are_about() -> None:
    found, _ = evaluate(None, nothing(pending=10_001), BEGIN)
    assert {one.rule: one.value for one in found.instances} == {
        "StokerNoWorker": 0,
        "StokerUncountedRequests": 10_001,
    }


@pytest.mark.parametrize("data", [b"", b"{}", b'{"at": 1, "instances": [{}]}'])
def test_a_state_of_another_version_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        instances_of(data)
