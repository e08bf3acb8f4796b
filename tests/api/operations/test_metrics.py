"""GET /metrics on the API's port: who may read it, and in which format."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse

from api.http.rejection_counts import REJECTIONS
from api.processes.metrics_port import metrics_app
from api.services import AppServices
from config.settings import MetricsSettings, Settings
from tests.api.conftest import ADMIN_KEY, KEY
from tests.support.wsgi_answers import create_app


@pytest.fixture(autouse=True)
def _no_earlier_refusals() -> None:
    REJECTIONS.take()


@pytest.mark.rule("runner/metrics-access")
def test_the_metrics_need_a_key_with_their_scope(app: Flask) -> None:
    client = app.test_client()
    answers = [client.get("/metrics", headers={"x-api-key": key} if key else {}) for key in ("", KEY)]
    assert [answer.status_code for answer in answers] == [401, 403]
    assert answers[1].json["error"]["code"] == "metrics_required"
    assert client.get("/metrics", headers={"x-api-key": ADMIN_KEY}).status_code == 200


def test_the_metrics_of_a_model_need_that_scope_too(app: Flask) -> None:
    client = app.test_client()
    answer = client.get("/metrics?model=demo", headers={"x-api-key": KEY})
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "metrics_required")
    answer = client.get("/metrics?model=demo", headers={"x-api-key": ADMIN_KEY})
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "storage_unavailable")


def test_the_own_metrics_of_the_process_are_there_while_redis_is_down(app: Flask) -> None:
    answer = app.test_client().get("/metrics", headers={"x-api-key": ADMIN_KEY})
    values = {family.name: family for family in parse(answer.text)}
    assert [sample.value for sample in values["stoker_up"].samples] == [0]
    assert values["process_resident_memory_bytes"].samples[0].value > 1e6
    assert "vllm_queue_depth" not in values


def test_a_scraper_that_accepts_openmetrics_gets_it(app: Flask) -> None:
    accept = "application/openmetrics-text;version=1.0.0"
    answer = app.test_client().get("/metrics", headers={"x-api-key": ADMIN_KEY, "Accept": accept})
    assert answer.content_type.startswith("application/openmetrics-text")
    assert {family.name for family in parse_openmetrics(answer.text)} >= {"stoker_up"}


@pytest.mark.rule("runner/env/ENABLE_METRICS")
def test_there_is_no_such_route_when_metrics_are_disabled(settings: Settings, services: AppServices) -> None:
    app = create_app(replace(settings, metrics=MetricsSettings(enabled=False)), services)
    answer = app.test_client().get("/metrics", headers={"x-api-key": ADMIN_KEY})
    assert answer.status_code == 404


def test_refused_requests_are_counted_by_code(http: FlaskClient, app: Flask) -> None:
    http.get("/no/such/path")
    http.get("/v1/models/no,body")
    app.test_client().get("/v1/models")
    http.post("/v1/responses", json={"model": "no,body", "input": "hi"})
    http.get("/v1/models")
    counts = REJECTIONS.take()
    assert counts == {"not_found": 1, "unknown_model": 2, "invalid_api_key": 1}


# ---- the further port


@pytest.mark.rule("runner/env/METRICS_PORT")
def test_the_further_port_needs_no_key_on_a_loopback_address(services: AppServices) -> None:
    client = metrics_app(services).test_client()
    assert client.get("/metrics").status_code == 200
    for headers in ({"Host": "rebound.example"}, {"Origin": "http://page.example"}):
        refused = client.get("/metrics", headers=headers)
        assert refused.status_code == 403
        message = refused.json["error"]["message"]
        assert message.startswith("the port for metrics ")
        assert message.endswith(" or use the API's port, with a key")


def test_the_further_port_needs_a_key_on_another_address(services: AppServices) -> None:
    services[Settings] = replace(services[Settings], metrics=MetricsSettings(host="192.0.2.1", port=0))
    client = metrics_app(services).test_client()
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"x-api-key": KEY}).status_code == 403
    assert client.get("/metrics", headers={"x-api-key": ADMIN_KEY}).status_code == 200


def test_the_further_port_has_no_other_route(services: AppServices) -> None:
    answer = metrics_app(services).test_client().get("/v1/models")
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "not_found")
    assert metrics_app(services).test_client().post("/metrics").status_code == 404
