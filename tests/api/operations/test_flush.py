"""POST /v1/admin/cache/flush, over the real fleet and a worker that starts no engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import redis
from flask import Flask
from flask.testing import FlaskClient

import tasks.definitions
from api.operations.admin_schema import OperationObject
from api.operations.flush_schema import FlushPlan
from api.wiring import make_services
from config.settings import ModelDefinition, Settings
from fleet.flush import FlushCount
from fleet.load_request import LoadOutcome
from tests.api.conftest import ADMIN_KEY, KEY
from tests.support.audit import audit_of
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app

FLUSH = "/v1/admin/cache/flush"


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    models = {name: ModelDefinition(name, "stub") for name in ("alpha", "org/beta")}
    return replace(
        shared_settings,
        lease=LONG_LEASE,
        models=models,
    )


@pytest.fixture(autouse=True)
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    return platform


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[LoadOutcome]:
    """The outcomes whose workers were notified."""
    outcomes: list[LoadOutcome] = []
    monkeypatch.setattr(tasks.definitions, "notify_workers", outcomes.append)
    return outcomes


@pytest.fixture
def http(settings: Settings) -> FlaskClient:
    app: Flask = create_app(settings, make_services(settings))
    http = app.test_client()
    http.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return http


@pytest.mark.parametrize(
    ("body", "model"),
    [
        ({"scope": "all"}, None),
        ({"scope": "model", "model": "org/beta"}, "org/beta"),
        ({"scope": "tenant", "tenant": "acme", "model": None}, None),
        ({"scope": "tag", "tenant": "acme", "tag": "session-1"}, None),
    ],
)
def test_a_flush_is_an_operation_to_poll(
    http: FlaskClient,
    platform: SimulatedPlatform,
    sent: list[LoadOutcome],
    body: dict[str, Any],
    model: str | None,
) -> None:
    platform.load("alpha")
    platform.load("org/beta")
    answer = http.post(FLUSH, json=body)
    assert answer.status_code == 202
    assert OperationObject().validate(answer.json) == {}
    assert (answer.json["kind"], answer.json["status"], answer.json["model"]) == ("flush", "pending", model)
    assert answer.json["scope"] == {"kind": body["scope"], "model": None, "tenant": None, "tag": None} | {
        name: value for name, value in body.items() if name != "scope"
    }
    (outcome,) = sent
    for assignment in outcome.assignments:
        incarnation = platform.incarnations[assignment.worker]
        count = FlushCount(3, None, "it does not say")
        id = answer.json["id"]
        platform.fleet.replica_flushed(assignment.replica, assignment.worker, incarnation, id, count)
    assert answer.headers["Location"] == f"/v1/admin/operations/{answer.json['id']}"
    ended = http.get(answer.headers["Location"]).json
    assert OperationObject().validate(ended) == {}
    assert ended["status"] == "completed"
    assert ended["result"] | {"duration_ms": 0} == {
        "replicas": len(outcome.assignments),
        "memory_mib": None,
        "context_tokens": None,
        "entries_removed": 3 * len(outcome.assignments),
        "deleted_bytes": None,
        "reason": "it does not say",
        "duration_ms": 0,
    }


def test_a_flush_without_engines_is_complete_at_once(http: FlaskClient) -> None:
    answer = http.post(FLUSH, json={"scope": "all"})
    assert (answer.status_code, answer.json["status"]) == (200, "completed")
    assert answer.json["result"]["entries_removed"] == 0


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({}, (422, "unprocessable_request", "scope")),
        ({"scope": "everything"}, (422, "unprocessable_request", "scope")),
        ({"scope": "all", "tenants": "acme"}, (422, "unprocessable_request", "tenants")),
        ({"scope": "tenant", "tenant": "two words"}, (422, "unprocessable_request", "tenant")),
        ({"scope": "tag", "tenant": "acme", "tag": "x" * 65}, (422, "unprocessable_request", "tag")),
        ({"scope": "tenant"}, (400, "invalid_flush", "tenant")),
        ({"scope": "tag", "tag": "x"}, (400, "invalid_flush", "tenant")),
        ({"scope": "all", "model": "alpha"}, (400, "invalid_flush", "model")),
        ({"scope": "model", "model": "gamma"}, (404, "unknown_model", "model")),
    ],
)
def test_a_wrong_flush_is_refused_with_its_field_and_changes_nothing(
    http: FlaskClient,
    client: redis.Redis,
    platform: SimulatedPlatform,
    body: dict[str, Any],
    refusal: tuple[int, str, str],
) -> None:
    answer = http.post(FLUSH, json=body)
    error = answer.json["error"]
    assert (answer.status_code, error["code"], error["param"]) == refusal
    assert client.keys(f"{platform.prefix}cache_epochs") == []


def test_a_flush_needs_the_scope_admin(http: FlaskClient) -> None:
    answer = http.post(FLUSH, json={"scope": "all"}, headers={"X-API-Key": KEY})
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "admin_required")


def test_a_flush_cannot_be_cancelled(http: FlaskClient, platform: SimulatedPlatform) -> None:
    platform.load("alpha")
    operation = http.post(FLUSH, json={"scope": "all"}).headers["Location"]
    answer = http.delete(operation)
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "operation_not_cancellable")


def test_a_flush_is_in_the_audit_with_its_scope(http: FlaskClient, settings: Settings) -> None:
    id = http.post(FLUSH, json={"scope": "tag", "tenant": "acme", "tag": "x"}).json["id"]
    found = [event for event in audit_of(settings).records() if event.action == "flush"]
    assert [event.outcome for event in found] == ["begun", "completed"]
    assert {event.subject for event in found} == {"tag x of tenant acme"}
    assert {event.detail["operation"] for event in found} == {id}


# ---- the plan of a flush

PLAN = f"{FLUSH}/plan"


def test_a_plan_shows_what_a_flush_would_affect_and_changes_nothing(
    http: FlaskClient, client: redis.Redis, platform: SimulatedPlatform, sent: list[LoadOutcome]
) -> None:
    platform.load("alpha", slots=3)
    platform.load("org/beta")
    for _ in range(2):
        platform.admit(model="alpha")
    everything = http.post(PLAN, json={"scope": "all"})
    assert everything.status_code == 200
    assert FlushPlan().validate(everything.json) == {}
    assert everything.json == {
        "scope": {"kind": "all", "model": None, "tenant": None, "tag": None},
        "begins": True,
        "problem": None,
        "namespaces": "those of all tenants and tags, on all models",
        "models": [
            {"model": "alpha", "replicas": 1, "running_requests": 2},
            {"model": "org/beta", "replicas": 1, "running_requests": 0},
        ],
        "replicas": 2,
        "running_requests": 2,
    }
    one = http.post(PLAN, json={"scope": "model", "model": "org/beta"}).json
    assert [model["model"] for model in one["models"]] == ["org/beta"]
    assert http.post(PLAN, json={"scope": "tag", "tenant": "acme", "tag": "x"}).json["replicas"] == 2
    assert (sent, client.keys(f"{platform.prefix}cache_epochs")) == ([], [])


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({"scope": "everything"}, (422, "unprocessable_request", "scope")),
        ({"scope": "all", "tenants": "acme"}, (422, "unprocessable_request", "tenants")),
        ({"scope": "tenant"}, (400, "invalid_flush", "tenant")),
        ({"scope": "all", "model": "alpha"}, (400, "invalid_flush", "model")),
        ({"scope": "model", "model": "gamma"}, (404, "unknown_model", "model")),
    ],
)
def test_a_plan_of_a_wrong_flush_is_refused_as_the_flush_is(
    http: FlaskClient, body: dict[str, Any], refusal: tuple[int, str, str]
) -> None:
    for path in (PLAN, FLUSH):
        answer = http.post(path, json=body)
        error = answer.json["error"]
        assert (answer.status_code, error["code"], error["param"]) == refusal


def test_a_plan_of_a_flush_on_a_governed_platform_has_the_refusal(
    settings: Settings,
) -> None:
    governed = replace(settings, governance=replace(settings.governance, admin="governed"))
    http = create_app(governed, make_services(governed)).test_client()
    http.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    audit = audit_of(settings)
    plan = http.post(PLAN, json={"scope": "all"}).json
    assert not plan["begins"]
    audit.sync()
    assert list(audit.store.all()) == [], "a plan is no attempt"
    refused = http.post(FLUSH, json={"scope": "all"})
    audit.sync()
    assert len(list(audit.store.all())) == 1
    assert (refused.status_code, plan["problem"]) == (
        403,
        {key: refused.json["error"][key] for key in ("code", "message")},
    )


def test_a_plan_needs_the_scope_admin(http: FlaskClient) -> None:
    assert http.post(PLAN, json={"scope": "all"}, headers={"X-API-Key": KEY}).status_code == 403
