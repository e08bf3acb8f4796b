"""Unloads by opToken."""

from __future__ import annotations

import pytest

from api.approvals.lifecycle.schema import UnloadTask
from tests.api.approvals.lifecycle.conftest import Runner
from tests.seeds import MODEL_RUNNER_API
from tests.support.gateway import Gateway


@pytest.fixture
def loaded(runner: Runner) -> Runner:
    """Alpha is loaded on the GPU of `w1`, the only worker."""
    runner.fleet.incarnations = {"w1": runner.fleet.fleet.registry.register("w1", "cuda")}
    runner.fleet.load("alpha")
    return runner


@pytest.mark.rule("runner/unload")
def test_an_unload_is_a_task_that_ends_with_what_was_freed(loaded: Runner, gateway: Gateway) -> None:
    answer = loaded.post("unload", gateway.unload("alpha"))
    assert answer.status_code == 202
    assert (answer.json["status"], answer.json["progress"]) == ("unloading", 0.0)
    assert answer.headers["Location"] == f"/v1/models/unload/{answer.json['taskId']}"
    loaded.stop_engines(freed_mib=8200)
    ended = loaded.task("unload", answer.json["taskId"])
    assert ended == {
        "taskId": answer.json["taskId"],
        "status": "completed",
        **MODEL_RUNNER_API["unload_response"],
        "modelId": "alpha",
    }
    assert UnloadTask().validate(ended) == {}


@pytest.mark.rule("runner/unload")
def test_memory_that_was_not_measured_is_null(loaded: Runner, gateway: Gateway) -> None:
    task = loaded.post("unload", gateway.unload("alpha")).json
    loaded.stop_engines(freed_mib=None)
    assert loaded.task("unload", task["taskId"])["gpuMemoryFreedMB"] is None


@pytest.mark.rule("runner/unload")
def test_the_memory_of_all_replicas_is_freed_and_unknown_if_that_of_one_is(
    runner: Runner, gateway: Gateway
) -> None:
    runner.fleet.incarnations = {
        name: runner.fleet.fleet.registry.register(name, "cuda") for name in ("w1", "w2")
    }
    for second, freed in ((4000, 7000), (None, None)):
        runner.fleet.load("alpha", replicas=2)
        task = runner.post("unload", gateway.unload("alpha")).json
        for worker, freed_mib in (("w1", 3000), ("w2", second)):
            (replica,) = runner.assigned(worker)
            runner.fleet.fleet.replica_down(
                replica,
                worker,
                runner.fleet.incarnations[worker],
                code="unloaded",
                message="unloaded",
                freed_mib=freed_mib,
            )
        assert runner.task("unload", task["taskId"])["gpuMemoryFreedMB"] == freed


@pytest.mark.rule("runner/unload")
def test_an_unload_of_an_unloaded_model_frees_nothing_and_uses_the_token_up(
    loaded: Runner, gateway: Gateway
) -> None:
    task = loaded.post("unload", gateway.unload("alpha")).json
    again = loaded.post("unload", gateway.unload("alpha"))
    assert (again.status_code, again.json["taskId"]) == (202, task["taskId"])
    loaded.stop_engines(freed_mib=8200)
    body = gateway.unload("alpha")
    answer = loaded.post("unload", body)
    assert answer.status_code == 200
    assert answer.json == {
        "taskId": task["taskId"],
        "status": "completed",
        "modelId": "alpha",
        "gpuMemoryFreedMB": 0,
        "kvCacheFlushed": True,
    }
    assert loaded.post("unload", body).status_code == 403


@pytest.mark.rule("runner/unload")
def test_an_unload_of_a_failed_model_ends_at_once(runner: Runner, gateway: Gateway) -> None:
    runner.post("load", gateway.load("alpha"))
    for worker in ("w1", "w2"):
        for replica in runner.assigned(worker):
            runner.fleet.starting(replica, worker)
            runner.fleet.crash(replica, worker, "load_failed")
    answer = runner.post("unload", gateway.unload("alpha"))
    assert answer.status_code == 200
    assert (answer.json["status"], answer.json["gpuMemoryFreedMB"]) == ("completed", 0)
