"""Models, health and the admin routes."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.operations.admin_schema import AdminModelList, ChangedModel, ModelDetail, OperationObject
from api.operations.health import HealthReader
from api.operations.health_schema import HealthBody
from api.operations.models_schema import ModelList, ModelObject
from api.services import AppServices
from config.settings import ROOT, Settings
from config.version import version
from fleet.states import ModelState
from tests.api.conftest import ADMIN_KEY
from tests.support.api_fakes import FakeRedisProbe, Fakes


@pytest.fixture
def admin(app: Flask, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    import tasks.definitions

    monkeypatch.setattr(tasks.definitions, "notify_workers", lambda _: None)
    client = app.test_client()
    client.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return client


def test_models_carry_the_keys_of_both_vendors(http: FlaskClient) -> None:
    listed = http.get("/v1/models").json
    assert ModelList().validate(listed) == {}
    assert (listed["first_id"], listed["last_id"], listed["has_more"]) == ("demo", "org/plain", False)
    one = http.get("/v1/models/org/plain").json
    assert one in listed["data"]
    assert ModelObject().validate(one) == {}
    assert (one["created"], one["created_at"], one["state"]) == (
        1_700_000_000,
        "2023-11-14T22:13:20Z",
        "loaded",
    )


def test_an_unknown_model_is_404(http: FlaskClient) -> None:
    answer = http.get("/v1/models/unknown")
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "unknown_model")


def test_the_document_has_the_version_of_the_project(http: FlaskClient) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert http.get("/openapi.json").json["info"]["version"] == project["version"] == version()


@pytest.mark.rule("runner/health")
def test_health_reports_loaded_models_and_queue_depth(http: FlaskClient, services: AppServices) -> None:
    health = http.get("/health").json
    assert HealthBody().validate(health) == {}
    uptime = health.pop("uptime")
    assert health == {"status": "healthy", "modelsLoaded": 2, "queueDepth": 4}
    services.created_at -= 100  # as if the process had started 100 s before
    assert http.get("/health").json["uptime"] - uptime >= 100


@pytest.mark.rule("runner/health-models-saturated")
def test_health_counts_the_models_whose_queues_are_full(
    http: FlaskClient, fakes: Fakes, services: AppServices, settings: Settings
) -> None:
    queue = replace(settings.queue, max_depth=2)
    services[HealthReader] = HealthReader(FakeRedisProbe(fakes.fleet), fakes.fleet.serving_state, queue, 0.0)
    answer = http.get("/health")
    assert HealthBody().validate(answer.json) == {}
    assert (answer.status_code, answer.json["reason"]) == (503, "queue_saturated")
    assert (answer.json["queueDepth"], answer.json["modelsSaturated"]) == (4, 2)


def test_health_is_503_when_redis_is_unreachable(http: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.unreachable = True
    answer = http.get("/health")
    assert (answer.status_code, answer.json["reason"]) == (503, "storage_unavailable")


@pytest.mark.rule("runner/health-503-models-failed")
def test_health_is_503_when_all_models_failed(http: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["demo"] = ModelState.FAILED
    assert http.get("/health").status_code == 200
    fakes.fleet.states["org/plain"] = ModelState.FAILED
    answer = http.get("/health")
    assert (answer.status_code, answer.json["reason"]) == (503, "all_models_failed")
    assert HealthBody().validate(answer.json) == {}


@pytest.mark.rule("models/models")
def test_an_administrator_sees_the_live_state(admin: FlaskClient) -> None:
    listed = admin.get("/v1/admin/models").json
    assert AdminModelList().validate(listed) == {}
    assert [model["runtime_state"] for model in listed["models"]] == ["loaded", "loaded"]
    one = admin.get("/v1/admin/models/org/plain").json
    assert ModelDetail().validate(one) == {}
    del one["replica_list"]
    assert one in listed["models"]
    assert admin.get("/v1/admin/models/unknown").status_code == 404


def test_a_load_is_an_operation_to_poll(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["org/plain"] = ModelState.UNLOADED
    answer = admin.post("/v1/admin/models/org/plain/load", json={"replicas": 2})
    assert answer.status_code == 202
    assert ChangedModel().validate(answer.json) == {}
    assert (answer.json["runtime_state"], fakes.fleet.request.replicas) == ("loading", 2)
    operation = admin.get(f"/v1/admin/operations/{answer.json['operation']['id']}").json
    assert operation == answer.json["operation"]
    assert OperationObject().validate(operation) == {}
    assert admin.post("/v1/admin/models/org/plain/load", json={}).status_code == 200


@pytest.mark.rule("unload/rules")
def test_an_unload_is_an_operation_and_repeating_it_is_no_error(admin: FlaskClient) -> None:
    assert admin.post("/v1/admin/models/demo/unload").status_code == 202
    again = admin.post("/v1/admin/models/demo/unload", data=b"", content_type="application/json")
    assert (again.status_code, again.json["operation"]) == (200, None)


@pytest.mark.rule("beyond/a-load-is-cancelled")
def test_a_load_is_cancelled_by_deleting_its_operation(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["demo"] = ModelState.UNLOADED
    load = admin.post("/v1/admin/models/demo/load", json={}).json["operation"]["id"]
    answer = admin.delete(f"/v1/admin/operations/{load}")
    assert (answer.status_code, answer.json["runtime_state"]) == (202, "unloading")
    assert ChangedModel().validate(answer.json) == {}
    unload = answer.json["operation"]
    assert (unload["kind"], answer.headers["Location"]) == ("unload", f"/v1/admin/operations/{unload['id']}")
    ended = admin.get(f"/v1/admin/operations/{load}").json
    assert OperationObject().validate(ended) == {}
    assert (ended["status"], ended["error_code"], ended["result"]) == ("cancelled", "load_cancelled", None)
    assert admin.delete(f"/v1/admin/operations/{load}").status_code == 200, "it is cancelled already"


@pytest.mark.rule("beyond/a-load-is-cancelled")
def test_an_operation_that_has_ended_cannot_be_cancelled(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["demo"] = ModelState.UNLOADED
    fakes.fleet.reads_until_end = 1
    load = admin.post("/v1/admin/models/demo/load", json={}).json["operation"]["id"]
    refused = admin.delete(f"/v1/admin/operations/{load}")
    assert (refused.status_code, refused.json["error"]["code"]) == (409, "operation_not_cancellable")
    assert admin.delete("/v1/admin/operations/unknown").status_code == 404


@pytest.mark.rule("beyond/a-load-is-cancelled")
def test_an_unload_of_a_loading_model_begins(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["demo"] = ModelState.LOADING
    answer = admin.post("/v1/admin/models/demo/unload")
    assert (answer.status_code, answer.json["operation"]["kind"]) == (202, "unload")


def test_a_load_of_another_shape_is_422(admin: FlaskClient) -> None:
    for replicas in (0, "2", True, 2.5):
        answer = admin.post("/v1/admin/models/demo/load", json={"replicas": replicas})
        assert (answer.status_code, answer.json["error"]["param"]) == (422, "replicas")


@pytest.mark.parametrize("action", ["load", "unload"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
def test_another_method_on_an_action_is_405_and_names_post(
    admin: FlaskClient, method: str, action: str
) -> None:
    for path in (f"/v1/admin/models/demo/{action}", f"/v1/admin/models/org/plain/{action}"):
        answer = admin.open(path, method=method)
        assert (answer.status_code, set(answer.headers["Allow"].split(", "))) == (405, {"POST", "OPTIONS"})
        if method != "HEAD":
            assert answer.json["error"]["code"] == "method_not_allowed"


def test_no_path_redirects(admin: FlaskClient, http: FlaskClient) -> None:
    for path in ("/v1//models", "//v1/capabilities", "/v1/models/", "/docs/", "/static", "/v1/admin//models"):
        for client in (admin, http):
            answer = client.get(path, headers={"Host": "evil.example"}, base_url=None)
            assert (answer.status_code, answer.headers.get("Location")) == (404, None), path


@pytest.mark.rule("load/rules", "unload/rules")
def test_an_unknown_model_or_operation_is_404_for_an_administrator(admin: FlaskClient) -> None:
    assert admin.post("/v1/admin/models/unknown/load", json={}).status_code == 404
    assert admin.post("/v1/admin/models/unknown/unload").status_code == 404
    assert admin.get("/v1/admin/operations/unknown").status_code == 404
