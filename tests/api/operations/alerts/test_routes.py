"""/v1/admin/alerts on a real ledger: the list, acknowledgements, and their records."""

from __future__ import annotations

import time

import pytest
from flask.testing import FlaskClient

from api.operations.alerts.rules import RULES
from api.operations.alerts.schema import AlertList, AlertObject
from api.operations.alerts.store import INTERVAL_S, Alerts
from api.operations.metrics.collector import PlatformState
from config.settings import Settings
from scheduler.counters import Counters
from store.redis_connections import command_client
from tests.api.operations.test_workers import ADMIN, OTHER_KEY, client, platform, settings  # noqa: F401 - fixtures

UNCOUNTED = "/v1/admin/alerts/StokerUncountedRequests/acknowledge"


async def idle(*_: object) -> None:
    """In place of the app's own turns."""


@pytest.fixture(autouse=True)
def alerts(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Alerts:  # noqa: F811
    """The alerts, an hour ago: no turn of the app comes between those of the test."""
    monkeypatch.setattr(Alerts, "run", idle)
    alerts = Alerts(command_client(settings), settings, {})
    alerts.scripts.offset_us = -3_600_000_000
    return alerts


def evaluate(alerts: Alerts, pending: int, steps: int = 6) -> None:
    for _ in range(steps):
        alerts.scripts.offset_us += (INTERVAL_S + 1) * 1_000_000
        state = PlatformState(Counters({}, {}, (), pending), [], [], [])
        assert alerts.evaluate(lambda state=state: state)  # type: ignore[misc]


def test_all_rules_are_in_the_list_with_their_states(client: FlaskClient, alerts: Alerts) -> None:  # noqa: F811
    evaluate(alerts, 10_001)
    body = client.get("/v1/admin/alerts", headers=ADMIN).get_json()
    assert AlertList().validate(body) == {}
    assert [one["name"] for one in body["data"]] == [rule.name for rule in RULES]
    states = {one["name"]: one["state"] for one in body["data"]}
    assert states["StokerNotScraped"] == "not_evaluated"
    assert states["StokerModelFailed"] == "inactive"
    assert states["StokerNoWorker"] == states["StokerUncountedRequests"] == "firing"
    assert body["unacknowledged"] == 2
    (found,) = (one for one in body["data"] if one["name"] == "StokerUncountedRequests")
    assert (found["value"], found["severity"], found["hold_s"]) == (10_001, "warning", 60)
    assert found["summary"].startswith("10,001 ended requests are not counted")
    assert found["condition"] == "stoker_uncounted_requests > 10000"


def test_an_acknowledgement_is_shown_recorded_and_taken_back(client: FlaskClient, alerts: Alerts) -> None:  # noqa: F811
    evaluate(alerts, 10_001)
    body = {"note": "the disk is slow", "hours": 4}
    answer = client.post(UNCOUNTED, json=body, headers=ADMIN)
    assert (answer.status_code, AlertObject().validate(answer.get_json())) == (200, {})
    known = answer.get_json()["acknowledgement"]
    listed = client.get("/v1/admin/alerts", headers=ADMIN).get_json()
    assert (known["actor"], known["note"], known["at"]) == ("boss", body["note"], listed["evaluated_at"])
    assert known["until"] == pytest.approx(time.time() + 4 * 3600, abs=60)
    assert listed["unacknowledged"] == 1
    (found,) = (one for one in listed["data"] if one["name"] == "StokerUncountedRequests")
    assert found == answer.get_json()
    assert (found["acknowledged"], found["instances"][0]["acknowledged"]) == (True, True)
    ended = client.delete(UNCOUNTED, headers=ADMIN).get_json()
    assert (ended["acknowledged"], ended["acknowledgement"]) == (False, None)
    assert client.delete(UNCOUNTED, headers=ADMIN).status_code == 200
    changes = client.get("/v1/admin/changes?limit=2", headers=ADMIN).get_json()["data"]
    assert [(one["alert"], one["to"], one["message"]) for one in changes] == [
        ("StokerUncountedRequests", "firing", ""),
        ("StokerUncountedRequests", "acknowledged", body["note"]),
    ]
    page = client.get("/v1/governance/audit?subject=StokerUncountedRequests", headers=ADMIN).get_json()
    made = [(one["action"], one["actor"], one["outcome"], one["detail"]) for one in page["data"]]
    assert made == [
        ("acknowledge_alert", "boss", "done", {"hours": 4, "note": "the disk is slow"}),
        ("end_acknowledgement", "boss", "done", {}),
    ]


def test_an_alert_that_does_not_fire_cannot_be_acknowledged(client: FlaskClient, alerts: Alerts) -> None:  # noqa: F811
    evaluate(alerts, 10_001, steps=2)
    answer = client.post(UNCOUNTED, json={}, headers=ADMIN)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (409, "alert_not_firing")
    for method in (client.post, client.delete):
        unknown = method("/v1/admin/alerts/Nothing/acknowledge", json={}, headers=ADMIN)
        assert (unknown.status_code, unknown.get_json()["error"]["param"]) == (404, "name")


@pytest.mark.parametrize(
    ("body", "param"),
    [({"note": "a" * 501}, "note"), ({"hours": 0}, "hours"), ({"hours": 721}, "hours"), ({"no": 1}, "no")],
)
def test_an_acknowledgement_that_fits_no_bound_is_refused(
    client: FlaskClient,  # noqa: F811
    body: dict[str, object],
    param: str,
) -> None:
    answer = client.post(UNCOUNTED, json=body, headers=ADMIN)
    assert (answer.status_code, answer.get_json()["error"]["param"]) == (422, param)


def test_a_key_without_the_scope_admin_sees_and_acknowledges_nothing(client: FlaskClient) -> None:  # noqa: F811
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    assert client.get("/v1/admin/alerts", headers=other).status_code == 403
    assert client.post(UNCOUNTED, json={}, headers=other).status_code == 403
