"""The tasks that Flower shows."""

from __future__ import annotations

import base64
import json
import re
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.journeys.test_deaths import Stream
from tests.support.platform import Platform
from tests.support.waiting import scaled

pytestmark = pytest.mark.journey


def ask_flower(shared: Platform, path: str) -> dict[str, Any]:
    secret = base64.b64encode(f"stoker:{shared.keys['flower_password']}".encode()).decode()
    request = urllib.request.Request(
        shared.run["flower"] + path, headers={"Authorization": f"Basic {secret}"}
    )
    with urllib.request.urlopen(request, timeout=scaled(10)) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found


def tasks(shared: Platform) -> dict[str, Any]:
    return ask_flower(shared, "/api/tasks?limit=500")


def workers_page(shared: Platform) -> list[dict[str, Any]]:
    """The rows of Flower's first page."""
    rows: list[dict[str, Any]] = ask_flower(shared, "/workers?json=1")["data"]
    return rows


def test_flower_lists_responses_by_their_ids_with_their_runtime(shared: Platform) -> None:
    began = time.monotonic()
    status, body = shared.call("POST", "/v1/responses", {"model": "slow", "input": "/stub tokens=20"})
    assert status == 200
    row = shared.wait_for(
        lambda: (tasks(shared).get(body["id"]) or {}).get("state") == "SUCCESS" and tasks(shared)[body["id"]],
        10,
        "finished task in Flower",
    )
    assert row["name"] == "stoker.generate"
    assert 0.7 < row["runtime"] < time.monotonic() - began  # 20 tokens at 20 a second


def test_flower_shows_a_running_response_as_started(shared: Platform) -> None:
    stream = Stream(shared)
    assert stream.has_output.wait(scaled(10))
    id = stream.events[0]["response"]["id"]
    shared.wait_for(lambda: tasks(shared).get(id, {}).get("state") == "STARTED", 10, "started task")
    shared.call("POST", f"/v1/responses/{id}/cancel")
    stream.end(5)
    shared.wait_for(lambda: tasks(shared)[id]["state"] == "SUCCESS", 10, "ended task")
    assert tasks(shared)[id]["result"].strip("'") == "cancelled"


def test_flower_counts_a_running_response_at_its_worker(shared: Platform) -> None:
    stream = Stream(shared)
    assert stream.has_output.wait(scaled(10))
    id = stream.events[0]["response"]["id"]

    def active_tasks() -> int:
        (worker,) = workers_page(shared)
        return int(worker["active"] or 0)

    shared.wait_for(lambda: active_tasks() == 1, 10, "active task")

    def ran_tasks() -> int:
        (worker,) = ask_flower(shared, "/api/workers?refresh=true").values()
        # a worker that does not answer Flower within a second has no statistics yet
        return int(worker.get("stats", {}).get("total", {}).get("stoker.generate", 0))

    shared.wait_for(lambda: ran_tasks() >= 1, 10, "count of tasks")
    shared.call("POST", f"/v1/responses/{id}/cancel")
    stream.end(5)
    shared.wait_for(lambda: active_tasks() == 0, 10, "end of the active task")


def test_flower_shows_a_failed_response_with_its_reason(shared: Platform) -> None:
    before = set(tasks(shared))
    status, body = shared.call(
        "POST", "/v1/responses", {"model": "stub", "input": "/stub error=invalid_prompt"}
    )
    assert status == 400, body
    row = shared.wait_for(
        lambda: [row for id, row in tasks(shared).items() if id not in before and row["state"] == "FAILURE"],
        10,
        "failed task",
    )[0]
    assert row["exception"].startswith("Failed(")
    assert "invalid_prompt" in row["traceback"]


def test_flower_shows_a_flush_by_the_id_of_its_operation(shared: Platform) -> None:
    status, operation = shared.admin("POST", "/v1/admin/cache/flush", {"scope": "model", "model": "stub"})
    assert status == 202, operation
    row = shared.wait_for(
        lambda: (
            (tasks(shared).get(operation["id"]) or {}).get("state") == "SUCCESS"
            and tasks(shared)[operation["id"]]
        ),
        10,
        "ended task in Flower",
    )
    assert row["name"] == "stoker.flush"
    assert operation["id"] in row["args"]
    # a heartbeat may have begun the flush before the task, and may have ended it
    assert re.search(r"entries|already here|nothing to do", row["result"])


def test_the_list_of_operations_has_the_address_of_flower(shared: Platform) -> None:
    status, operation = shared.admin("POST", "/v1/admin/cache/flush", {"scope": "all"})
    assert status == 202, operation
    _, listed = shared.admin("GET", "/v1/admin/operations?kind=flush&limit=1")
    assert listed["flower_url"] == shared.run["flower"]
    (newest,) = listed["data"]
    assert newest["id"] == operation["id"]
    for id in newest["task_ids"]:
        shared.wait_for(lambda id=id: tasks(shared).get(id, {}).get("state") == "SUCCESS", 10, "ended task")


def test_flower_refuses_requests_without_the_password(shared: Platform) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(shared.run["flower"] + "/api/tasks", timeout=scaled(10))
    assert refused.value.code == 401
