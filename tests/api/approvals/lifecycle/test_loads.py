"""Loads by opToken: their tasks from the first answer to the end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from api.approvals.lifecycle.requests import parse
from api.approvals.lifecycle.schema import LoadTask
from config.settings import ModelDefinition
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from tests.api.approvals.lifecycle.conftest import Runner
from tests.seeds import MODEL_RUNNER_API
from tests.support.gateway import Gateway
from tests.support.waiting import scaled, wait_until


def on_gpu(runner: Runner) -> None:
    """Of the workers, `w1` has a GPU from now on, and `w2` is gone."""
    runner.fleet.incarnations = {"w1": runner.fleet.fleet.registry.register("w1", "cuda")}
    runner.fleet.fleet.registry.deregister("w2", "", "gone")


@pytest.mark.rule("runner/load", "runner/load-task")
def test_a_load_is_a_task_with_the_fields_of_the_specification(runner: Runner, gateway: Gateway) -> None:
    on_gpu(runner)
    answer = runner.post("load", gateway.load("alpha"))
    task = answer.json
    assert answer.status_code == 202
    assert set(MODEL_RUNNER_API["load_accepted"]) <= set(task)
    assert (task["status"], task["progress"], task["eta"]) == ("loading", 0.0, None)
    assert answer.headers["Location"] == f"/v1/models/load/{task['taskId']}"
    assert runner.task("load", task["taskId"]) == task

    (replica,) = runner.assigned()
    runner.fleet.starting(replica)
    runner.fleet.fleet.replica_progress(replica, 0.5, "reading weights")
    under_way = runner.task("load", task["taskId"])
    assert (under_way["status"], under_way["progress"], under_way["stage"]) == (
        "loading",
        0.5,
        "reading weights",
    )
    incarnation = runner.fleet.incarnations["w1"]
    runner.fleet.fleet.replica_up(replica, "w1", incarnation, 2, 4242, memory_mib=38_500)
    ended = runner.task("load", task["taskId"])
    assert set(ended) == set(MODEL_RUNNER_API["load_completed"])
    assert (ended["status"], ended["modelId"], ended["gpuMemoryUsedMB"]) == ("completed", "alpha", 38_500)
    assert isinstance(ended["loadTimeMs"], int)
    for body in (task, under_way, ended):
        assert LoadTask().validate(body) == {}


@pytest.mark.rule("runner/load-task")
def test_the_eta_is_that_of_earlier_loads_in_seconds(runner: Runner, gateway: Gateway) -> None:
    runner.post("load", gateway.load("alpha"))
    (replica,) = runner.assigned("w1") + runner.assigned("w2")
    worker = "w1" if replica in runner.assigned("w1") else "w2"
    runner.fleet.starting(replica, worker)
    runner.advance_time(4)
    runner.fleet.up(replica, worker)
    runner.post("unload", gateway.unload("alpha"))
    runner.stop_engines()
    task = runner.post("load", gateway.load("alpha")).json
    assert 3 < task["eta"] <= 4.5
    runner.advance_time(3)
    assert 0 < runner.task("load", task["taskId"])["eta"] < 1.5


@pytest.mark.rule("runner/load-task")
def test_a_load_without_a_gpu_takes_none_of_its_memory_and_an_unmeasured_one_is_null(
    runner: Runner, gateway: Gateway
) -> None:
    task = runner.post("load", gateway.load("alpha")).json
    runner.start_engines(memory_mib=500)
    assert runner.task("load", task["taskId"])["gpuMemoryUsedMB"] == 0
    runner.post("unload", gateway.unload("alpha"))
    runner.stop_engines()
    on_gpu(runner)
    task = runner.post("load", gateway.load("alpha")).json
    runner.start_engines(memory_mib=None)
    assert runner.task("load", task["taskId"])["gpuMemoryUsedMB"] is None


@pytest.mark.rule("runner/load-task")
def test_a_failed_load_has_the_reason_as_text(runner: Runner, gateway: Gateway) -> None:
    task = runner.post("load", gateway.load("alpha")).json
    for worker in ("w1", "w2"):
        for replica in runner.assigned(worker):
            runner.fleet.starting(replica, worker)
            runner.fleet.crash(replica, worker, "load_failed")
    ended = runner.task("load", task["taskId"])
    assert ended == {
        "taskId": task["taskId"],
        "status": "failed",
        "modelId": "alpha",
        "error": "killed by SIGSEGV",
        "errorCode": "load_failed",
    }
    assert LoadTask().validate(ended) == {}


@pytest.mark.rule("runner/load-task")
def test_a_load_that_an_unload_cancels_is_cancelled(runner: Runner, gateway: Gateway) -> None:
    task = runner.post("load", gateway.load("alpha")).json
    runner.post("unload", gateway.unload("alpha"))
    ended = runner.task("load", task["taskId"])
    assert (ended["status"], ended["errorCode"]) == ("cancelled", "load_cancelled")


@pytest.mark.rule("runner/load")
def test_a_load_that_the_client_waits_for_answers_with_its_end(runner: Runner, gateway: Gateway) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(runner.post, "load", gateway.load("alpha"), Prefer="wait=60")
        wait_until(lambda: runner.fleet.model() == "loading")
        runner.start_engines()
        answer = waiting.result(scaled(30))
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (200, "wait=60")
    assert (answer.json["status"], answer.json["modelId"]) == ("completed", "alpha")


@pytest.mark.rule("runner/load")
def test_a_load_that_does_not_end_in_the_time_that_the_client_waits_is_under_way(
    runner: Runner, gateway: Gateway
) -> None:
    answer = runner.post("load", gateway.load("alpha"), Prefer="wait=1")
    assert (answer.status_code, answer.json["status"]) == (202, "loading")
    assert answer.headers["Location"].endswith(answer.json["taskId"])


@pytest.mark.rule("runner/load")
def test_a_load_of_a_loading_model_is_the_same_task(runner: Runner, gateway: Gateway) -> None:
    first, second = (runner.post("load", gateway.load("alpha")) for _ in range(2))
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json["taskId"] == second.json["taskId"]


@pytest.mark.rule("runner/load")
def test_a_load_of_a_loaded_model_is_completed_at_once_and_uses_the_token_up(
    runner: Runner, gateway: Gateway
) -> None:
    task = runner.post("load", gateway.load("alpha")).json
    runner.start_engines()
    body = gateway.load("alpha")
    answer = runner.post("load", body)
    assert answer.status_code == 200
    assert (answer.json["taskId"], answer.json["status"]) == (task["taskId"], "completed")
    assert LoadTask().validate(answer.json) == {}
    assert runner.post("load", body).status_code == 403


@pytest.mark.rule("runner/load")
def test_a_load_whose_operation_is_forgotten_is_completed_all_the_same(
    runner: Runner, gateway: Gateway
) -> None:
    task = runner.post("load", gateway.load("alpha")).json
    runner.start_engines()
    runner.fleet.client.delete(f"{runner.fleet.prefix}operation:{task['taskId']}")
    answer = runner.post("load", gateway.load("alpha"))
    assert answer.json == {
        "taskId": None,
        "status": "completed",
        "modelId": "alpha",
        "gpuMemoryUsedMB": 0,
        "loadTimeMs": None,
    }
    assert LoadTask().validate(answer.json) == {}


@pytest.mark.rule("runner/load")
def test_a_model_is_unloaded_first_with_one_approval(runner: Runner, gateway: Gateway) -> None:
    runner.fleet.load("org/beta-1B")
    answer = runner.post("load", gateway.load("alpha", evictModel="org/beta-1B"))
    assert (answer.status_code, answer.json["stage"]) == (202, "unloading org/beta-1B")
    assert runner.fleet.model("org/beta-1B") == "unloading"
    runner.stop_engines()
    runner.fleet.recovery.resume_pending()
    runner.start_engines()
    assert runner.task("load", answer.json["taskId"])["status"] == "completed"


@pytest.mark.rule("runner/load")
def test_a_load_fails_with_the_unload_that_it_waits_for(runner: Runner, gateway: Gateway) -> None:
    runner.fleet.load("org/beta-1B")
    task = runner.post("load", gateway.load("alpha", evictModel="org/beta-1B")).json
    unload_s = runner.settings.limits.unload_timeout_s
    runner.fleet.run_for(2 * (unload_s + 10) + 5, "w1", "w2", every=2.0)
    ended = runner.task("load", task["taskId"])
    assert (ended["status"], ended["errorCode"]) == ("failed", "load_timeout")


@pytest.mark.rule("runner/load")
def test_a_refused_load_changes_nothing_and_its_token_stays_usable(runner: Runner, gateway: Gateway) -> None:
    runner.fleet.fleet.report_artifacts({"alpha": 1000})
    for worker in ("w1", "w2"):
        runner.fleet.report_memory(worker)
    body = gateway.load("alpha")
    refused = runner.post("load", body)
    assert (refused.status_code, refused.json["error"]["code"]) == (409, "insufficient_memory")
    for worker in ("w1", "w2"):
        runner.fleet.report_memory(worker, 2000, 2000)
    assert runner.post("load", body).status_code == 202
    assert [outcome for _, _, outcome, _ in runner.audited()] == ["refused", "begun"]


def test_an_unknown_model_is_named_by_its_field(runner: Runner, gateway: Gateway) -> None:
    error = runner.post("load", gateway.load("gamma")).json["error"]
    assert (error["code"], error["param"]) == ("unknown_model", "modelId")
    error = runner.post("load", gateway.load("alpha", evictModel="gamma")).json["error"]
    assert (error["code"], error["param"]) == ("unknown_model", "evictModel")
    error = runner.post("unload", gateway.unload("gamma")).json["error"]
    assert (error["code"], error["param"]) == ("unknown_model", "modelId")


def test_a_task_is_found_by_its_kind_only(runner: Runner, gateway: Gateway) -> None:
    task = runner.post("load", gateway.load("alpha")).json
    for path in (f"/v1/models/unload/{task['taskId']}", f"/v1/models/load/load_{'0' * 24}"):
        answer = runner.http.get(path)
        assert (answer.status_code, answer.json["error"]["code"]) == (404, "not_found")


def test_a_load_of_the_admin_api_is_a_task_as_well(runner: Runner) -> None:
    operation = runner.http.post("/v1/admin/models/alpha/load").json["operation"]
    assert runner.task("load", operation["id"])["status"] == "loading"


def test_a_model_whose_name_begins_like_a_route_is_still_found(runner: Runner) -> None:
    runner.services[Fleet].settings.models["load/model"] = ModelDefinition("load/model", "stub")  # type: ignore[index]
    assert runner.http.get("/v1/models/load/model").json["id"] == "load/model"
    assert runner.services[Fleet].load("load/model", LoadRequest()).begun


def test_a_number_is_the_same_with_and_without_a_fraction_of_zero() -> None:
    body = {"modelId": "alpha", "maxContextLength": 512.0, "gpuMemoryBudgetMB": 1e3}
    found = parse("model-load", body).body
    assert found == {"modelId": "alpha", "maxContextLength": 512, "gpuMemoryBudgetMB": 1000}
    assert {type(value) for value in found.values()} == {str, int}
