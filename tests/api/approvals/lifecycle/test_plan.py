"""The plan of a load."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.operations.operation_plans_schema import LoadPlan
from config.settings import GovernanceSettings, Settings
from tests.api.approvals.lifecycle.conftest import Runner

PLAN = "/v1/models/load/plan"


@pytest.mark.rule("runner/load-plan")
def test_a_plan_shows_what_a_load_would_do_and_does_nothing(runner: Runner) -> None:
    runner.fleet.load("org/beta-1B")
    recorded = runner.audited()
    answer = runner.http.get(PLAN, query_string={"modelId": "alpha", "evictModel": "org/beta-1B"})
    plan = answer.json
    assert answer.status_code == 200
    assert (plan["operation"], plan["modelId"], plan["begins"], plan["problem"]) == (
        "model-load",
        "alpha",
        True,
        None,
    )
    assert plan["evicts"]["modelId"] == "org/beta-1B"
    assert LoadPlan().validate(plan) == {}
    assert (runner.fleet.model("alpha"), runner.fleet.model("org/beta-1B")) == ("unloaded", "loaded")
    assert runner.audited() == recorded
    again = runner.http.get(PLAN, query_string={"modelId": "alpha", "evictModel": "org/beta-1B"}).json
    assert again["digest"] == plan["digest"]


@pytest.mark.rule("runner/load-plan")
def test_a_plan_has_the_reason_for_which_the_load_would_be_refused(runner: Runner) -> None:
    runner.fleet.fleet.report_artifacts({"alpha": 1000})
    for worker in ("w1", "w2"):
        runner.fleet.report_memory(worker)
    plan = runner.http.get(PLAN, query_string={"modelId": "alpha"}).json
    assert (plan["begins"], plan["problem"]["code"]) == (False, "insufficient_memory")


@pytest.mark.parametrize(
    ("query", "status", "param"),
    [
        ({}, 400, "modelId"),
        ({"modelId": "gamma"}, 404, "modelId"),
        ({"modelId": "alpha", "maxContextLength": "many"}, 400, "maxContextLength"),
        ({"modelId": "alpha", "replicas": "2"}, 400, "replicas"),
        ({"modelId": "alpha", "evictModel": "alpha"}, 400, "evictModel"),
    ],
)
def test_a_plan_of_an_impossible_load_is_refused_by_its_field(
    runner: Runner, query: dict[str, str], status: int, param: str
) -> None:
    answer = runner.http.get(PLAN, query_string=query)
    assert (answer.status_code, answer.json["error"]["param"]) == (status, param)


def test_a_plan_needs_a_platform_that_takes_tokens(runner: Runner, settings: Settings) -> None:
    closed = Runner(replace(settings, governance=GovernanceSettings()), runner.fleet.client)
    assert closed.http.get(PLAN, query_string={"modelId": "alpha"}).status_code == 403
