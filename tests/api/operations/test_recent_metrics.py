"""GET /v1/admin/metrics/recent."""

from __future__ import annotations

from flask.testing import FlaskClient

from api.operations.metrics.collector import PlatformState
from api.operations.metrics.recent_schema import RecentMetricsBody
from api.operations.metrics.sample_store import MetricSamples
from api.services import AppServices
from config.settings import Settings
from scheduler.counters import Counters
from tests.api.operations.test_workers import ADMIN, OTHER_KEY, client, settings  # noqa: F401 - fixtures

NOTHING = PlatformState(Counters({}, {"queue_wait": (1000,)}, (), 0), [], [], [])


def test_the_samples_are_read_and_limited(client: FlaskClient) -> None:  # noqa: F811
    services: AppServices = client.application.extensions["stoker"]
    scripts = services[MetricSamples].scripts
    recent = MetricSamples(scripts.client, services[Settings])
    recent.scripts.offset_us = 60_000_000  # far from the turns that the app takes itself meanwhile
    for _ in range(3):
        recent.scripts.offset_us += 10_000_000
        assert recent.take(lambda: NOTHING)
    scripts.offset_us = recent.scripts.offset_us
    body = client.get("/v1/admin/metrics/recent", headers=ADMIN).get_json()
    assert RecentMetricsBody().validate(body) == {}
    assert len(body["samples"]) >= 3
    assert body["interval_s"] == 10
    limited = client.get("/v1/admin/metrics/recent?limit=1", headers=ADMIN).get_json()["samples"]
    assert limited == body["samples"][-1:]
    assert client.get("/v1/admin/metrics/recent?limit=0", headers=ADMIN).get_json()["samples"] == []
    of_model = client.get("/v1/admin/metrics/recent?model=alpha", headers=ADMIN).get_json()
    assert RecentMetricsBody().validate(of_model) == {}
    assert of_model["samples"][-1]["refusals_429"] is None
    later = int(body["samples"][-1]["at"])
    assert (
        len(client.get(f"/v1/admin/metrics/recent?after={later}", headers=ADMIN).get_json()["samples"]) == 1
    )


def test_wrong_parameters_are_refused(client: FlaskClient) -> None:  # noqa: F811
    for query in (
        "limit=1009",
        "limit=-1",
        "span_s=604801",
        "span_s=-1",
        "after=x",
        "after=99999999999",
        "model=a&tenant=b",
    ):
        answer = client.get(f"/v1/admin/metrics/recent?{query}", headers=ADMIN)
        assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "invalid_request"), query


def test_a_key_without_the_scope_admin_reads_no_samples(client: FlaskClient) -> None:  # noqa: F811
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    assert client.get("/v1/admin/metrics/recent", headers=other).status_code == 403
