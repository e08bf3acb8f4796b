"""Flushes by opToken."""

from __future__ import annotations

from typing import Any

import pytest

from api.approvals.lifecycle.schema import FlushTask
from fleet.flush import FlushCount
from tests.api.approvals.lifecycle.conftest import Runner
from tests.seeds import MODEL_RUNNER_API
from tests.support.gateway import Gateway

FLUSH = "/v1/cache/flush"


def flush(runner: Runner, gateway: Gateway, **body: Any) -> Any:
    approved = {**body, "verifiedOpToken": gateway.token("cache-flush", **body)}
    return runner.http.post(FLUSH, json=approved)


@pytest.mark.rule("runner/flush")
def test_a_flush_is_a_task_that_ends_with_what_the_engines_counted(runner: Runner, gateway: Gateway) -> None:
    (replica,) = runner.fleet.load("alpha")
    (worker,) = runner.fleet.fleet.row("alpha").workers
    answer = flush(runner, gateway, scope="tenant", tenantId="community-x")
    assert (answer.status_code, answer.json["status"]) == (202, "flushing")
    id = answer.json["taskId"]
    assert answer.headers["Location"] == f"{FLUSH}/{id}"
    runner.fleet.fleet.replica_flushed(
        replica, worker, runner.fleet.incarnations[worker], id, FlushCount(1234, 3500)
    )
    ended = runner.http.get(f"{FLUSH}/{id}").json
    assert ended == {"taskId": id, "status": "completed", **MODEL_RUNNER_API["flush_response"]}
    assert FlushTask().validate(ended) == {}


@pytest.mark.rule("runner/flush")
def test_a_number_that_an_engine_cannot_count_is_null_with_the_reason(
    runner: Runner, gateway: Gateway
) -> None:
    (replica,) = runner.fleet.load("alpha")
    (worker,) = runner.fleet.fleet.row("alpha").workers
    id = flush(runner, gateway, scope="model", modelId="alpha").json["taskId"]
    count = FlushCount(reason="the server counts nothing")
    runner.fleet.fleet.replica_flushed(replica, worker, runner.fleet.incarnations[worker], id, count)
    ended = runner.http.get(f"{FLUSH}/{id}").json
    assert (ended["entriesRemoved"], ended["memoryFreedMB"]) == (None, None)
    assert ended["reason"] == "the server counts nothing"
    assert ended["modelId"] == "alpha"


@pytest.mark.rule("runner/flush")
@pytest.mark.parametrize(
    "scope",
    [
        {"scope": "all"},
        {"scope": "model", "modelId": "alpha"},
        {"scope": "tenant", "tenantId": "community-x"},
        {"scope": "tag", "tenantId": "community-x", "tag": "session-abc123"},
    ],
    ids=lambda scope: scope["scope"],
)
def test_a_flush_of_each_scope_opens_with_a_token_for_it_and_for_no_other(
    runner: Runner, gateway: Gateway, scope: dict[str, str]
) -> None:
    assert scope["scope"] in MODEL_RUNNER_API["flush_scopes"]
    other = {"scope": "model", "modelId": "org/beta-1B"}
    for approved in (other, {**scope, "tenantId": "another"}, {"scope": "tenant", "tenantId": "another"}):
        body = {**scope, "verifiedOpToken": gateway.token("cache-flush", **approved)}
        assert runner.http.post(FLUSH, json=body).status_code == 403
    answer = flush(runner, gateway, **scope)
    assert (answer.status_code, answer.json["status"], answer.json["flushed"]) == (200, "completed", True)


@pytest.mark.rule("runner/flush")
def test_a_scope_without_its_fields_is_refused_by_name(runner: Runner, gateway: Gateway) -> None:
    for body, param in (
        ({"scope": "tenant"}, "tenantId"),
        ({"scope": "all", "modelId": "alpha"}, "modelId"),
        ({"scope": "tag", "tenantId": "community-x"}, "tag"),
        ({"scope": "model", "modelId": "gamma"}, "modelId"),
        ({"scope": "everything"}, "scope"),
    ):
        answer = flush(runner, gateway, **body)
        assert answer.status_code in (400, 404)
        assert answer.json["error"]["param"] == param
