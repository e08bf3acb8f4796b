"""Loading and unloading models with the CLI and over HTTP."""

from __future__ import annotations

import pytest

from tests.journeys.test_deaths import Stream
from tests.support.platform import Platform
from tests.support.waiting import scaled

pytestmark = pytest.mark.journey


def test_the_cli_unloads_loads_and_shows_a_model(shared: Platform) -> None:
    assert shared.stoker("unload", "stub").returncode == 0
    assert shared.model("stub")["runtime_state"] == "unloaded"
    status, body = shared.call("POST", "/v1/responses", {"model": "stub", "input": "x"})
    assert (status, body["error"]["code"]) == (409, "model_not_loaded")
    assert shared.stoker("load", "stub").returncode == 0
    shown = shared.stoker("status")
    assert shown.returncode == 0
    assert "stub" in shown.stdout
    status, _ = shared.call("POST", "/v1/responses", {"model": "stub", "input": "x"})
    assert status == 200


@pytest.mark.rule("state/unloading", "unload/scheduler-alignment")
def test_an_unload_lets_running_jobs_finish_and_cancels_queued_ones(shared: Platform) -> None:
    running = [Stream(shared, "/stub tokens=160") for _ in range(2)]  # 8 s, in which the rest happens
    for stream in running:
        assert stream.has_output.wait(scaled(10))
    waiting = Stream(shared, "/stub tokens=40")
    shared.wait_for(lambda: shared.model("slow")["queue_depth"] == 1, 5, "waiting request")
    status, body = shared.admin("POST", "/v1/admin/models/slow/unload")
    assert status == 202
    assert "model_unloading" in waiting.end(5)["response"]["error"]["message"]
    assert shared.model("slow")["runtime_state"] == "unloading"
    for stream in running:
        assert stream.end(20)["type"] == "response.completed"
    shared.wait_state("slow", "unloaded")
    status, operation = shared.admin("GET", f"/v1/admin/operations/{body['operation']['id']}")
    assert (status, operation["status"]) == (200, "completed")
    shared.load("slow")


def test_a_tenant_may_not_load(shared: Platform) -> None:
    status, body = shared.call("POST", "/v1/admin/models/stub/load", {})
    assert status == 403
    assert set(body["error"]) == {"message", "type", "param", "code"}
