"""Requests that wait on a platform: their places, their end, and what is kept from background jobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.batch_lines import CHAT, chat_line, jsonl
from tests.support.platform import Platform
from tests.support.waiting import scaled

pytestmark = pytest.mark.journey


def test_waiting_requests_see_their_places_and_are_cancelled_together(shared: Platform) -> None:
    ask = {"model": "slow", "input": "x", "background": True}
    slots = 1  # of two: the other one is not for background jobs
    ids = [shared.call("POST", "/v1/responses", ask)[1]["id"] for _ in range(slots + 2)]
    try:
        places = [shared.call("GET", f"/v1/queue/{id}")[1] for id in ids]
        assert [place["status"] for place in places] == ["running"] * slots + ["queued"] * 2
        assert [place["position"] for place in places[slots:]] == [1, 2]
        assert places[-1]["reason"] == "waiting for a slot"
        (listed,) = shared.admin("GET", "/v1/admin/queue?model=slow")[1]["models"]
        assert (listed["queueDepth"], listed["running"], listed["slots"]) == (2, slots, 2)

        limit = {"X-Request-Timeout-Ms": "100"}
        status, answer, _ = shared.request("POST", "/v1/responses", {"model": "slow", "input": "x"}, **limit)
        assert (status, answer["error"]["code"]) == (504, "deadline_exceeded")
    finally:
        query = "tenant=default&model=slow&running=true"
        _, cancelled = shared.admin("DELETE", f"/v1/admin/queue?{query}")
    assert (cancelled["cancelled"], cancelled["stopping"]) == (2, slots)
    shared.wait_for(
        lambda: {shared.call("GET", f"/v1/responses/{id}")[1]["status"] for id in ids} == {"cancelled"},
        10,
        "end of the cancelled requests",
    )


@pytest.mark.parametrize(
    ("victim", "flood"),
    [
        ("first", {"background": True}),
        ("second", {"background": True, "priority": "high"}),
        ("third", {"batch": True}),
    ],
)
def test_a_request_of_another_tenant_gets_a_slot_beside_background_jobs(
    shared: Platform, victim: str, flood: dict[str, Any]
) -> None:
    """One tenant fills the model with jobs of ten seconds; the request of the other starts at once."""
    assert shared.admin("POST", "/v1/admin/tenants", {"name": victim})[0] == 201
    try:
        _, created = shared.admin("POST", "/v1/admin/keys", {"tenant": victim})
        begin_background_jobs(shared, **flood)
        body = {"model": "slow", "input": "/stub tokens=1"}
        shared.wait_for(
            lambda: shared.call("POST", "/v1/responses", body, created["key"])[0] == 200, 5, "key"
        )
        assert shared.model("slow")["queue_depth"] >= 2, "the jobs of the other tenant wait meanwhile"
    finally:
        shared.admin("DELETE", f"/v1/admin/tenants/{victim}")
        for batch in shared.call("GET", "/v1/batches")[1]["data"]:
            shared.call("POST", f"/v1/batches/{batch['id']}/cancel")

        def is_empty() -> bool:
            shared.admin("DELETE", "/v1/admin/queue?tenant=default&model=slow&running=true")
            row = shared.model("slow")
            return not row["queue_depth"] and not row["inflight_requests"]

        shared.wait_for(is_empty, 20, "end of the jobs")


def begin_background_jobs(
    platform: Platform, priority: str = "normal", batch: bool = False, **fields: object
) -> None:
    """Begin more jobs of a tenant than the model has slots, and wait until some of them wait."""
    if batch:
        with platform.sdk() as client:
            lines = [chat_line(f"line-{number}", "x", model="slow") for number in range(6)]
            file = client.files.create(file=("lines.jsonl", jsonl(*lines)), purpose="batch")
            client.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
    for _ in range(0 if batch else 6):
        body = {"model": "slow", "input": "x", **fields}
        status, _, _ = platform.request("POST", "/v1/responses", body, **{"X-Priority": priority})
        assert status == 200
    platform.wait_for(lambda: platform.model("slow")["queue_depth"] >= 2, 15, "jobs that wait")


def test_the_tokens_until_a_requests_own_time_limit_count(shared: Platform) -> None:
    ask = {"model": "stub", "input": "/stub tokens=10000 tokens_per_s=50", "background": True}
    limit = {"X-Request-Timeout-Ms": f"{scaled(1000):.0f}"}
    status, answer, _ = shared.request("POST", "/v1/responses", ask, **limit)
    assert status == 200, answer
    path = f"/v1/responses/{answer['id']}"
    shared.wait_for(lambda: shared.call("GET", path)[1]["status"] == "failed", 20, "end of the response")
    ended = shared.call("GET", path)[1]
    assert ended["usage"]["output_tokens"] > 10
    record = f"/v1/admin/requests/{answer['id']}"
    shared.wait_for(lambda: shared.admin("GET", record)[0] == 200, 10, "the record of the request")
    kept = shared.admin("GET", record)[1]
    assert (kept["code"], kept["tokens"]["output"]) == ("deadline_exceeded", ended["usage"]["output_tokens"])
