"""A rule with its alerts as JSON: which of them decides, and which are acknowledged."""

from __future__ import annotations

from typing import Any

from api.operations.alerts.evaluation import Instance
from api.operations.alerts.rules import BY_NAME
from api.operations.alerts.serializer import serialize_alert
from api.operations.alerts.store import Acknowledgement, AlertStates

FAILED = "StokerModelFailed"


def serialized(*instances: Instance, acknowledged_at: float | None = None) -> dict[str, Any]:
    known = {}
    if acknowledged_at is not None:
        known[FAILED] = Acknowledgement("boss", acknowledged_at, acknowledged_at + 5, None, "")
    return serialize_alert(BY_NAME[FAILED], AlertStates(500.0, 495.0, instances, known))


def failed(model: str, state: Any = "firing", since: float = 100.0) -> Instance:
    return Instance(FAILED, model, state, since, 1.0)


def test_the_most_urgent_alert_and_of_these_the_first_one_decides() -> None:
    body = serialized(failed("a", "resolved", 50), failed("b", since=120), failed("c", since=110))
    assert (body["state"], body["since"], body["summary"]) == (
        "firing",
        110,
        "Model c has failed: `stoker status` shows why.",
    )
    assert [one["labels"]["model"] for one in body["instances"]] == ["c", "b", "a"]


def test_an_alert_that_fires_after_the_acknowledgement_is_unacknowledged() -> None:
    both = failed("a"), failed("b", since=300)
    body = serialized(*both, acknowledged_at=200)
    assert not body["acknowledged"]
    assert [one["acknowledged"] for one in body["instances"]] == [True, False]
    assert serialized(*both, acknowledged_at=301)["acknowledged"]


def test_the_time_of_an_acknowledgement_stays_when_its_alerts_are_resolved() -> None:
    body = serialized(failed("a", "resolved"), acknowledged_at=200)
    assert (body["acknowledgement"], body["acknowledged_at"]) == (None, 200)
    assert serialized(failed("a"))["acknowledged_at"] is None


def test_only_alerts_that_fire_are_acknowledged() -> None:
    body = serialized(failed("a", "pending"), failed("b", "resolved"), acknowledged_at=200)
    assert (body["state"], body["acknowledged"]) == ("pending", False)
    assert not any(one["acknowledged"] for one in body["instances"])
