"""Requests that wait on a whole platform: their places, their deadline, and the operator's cancel."""

from __future__ import annotations

import pytest

from tests.support.platform import Platform

pytestmark = pytest.mark.journey


def test_waiting_requests_see_their_places_and_are_cancelled_together(shared: Platform) -> None:
    ask = {"model": "slow", "input": "x", "background": True}
    slots = 2
    ids = [shared.call("POST", "/v1/responses", ask)[1]["id"] for _ in range(slots + 2)]
    try:
        places = [shared.call("GET", f"/v1/queue/{id}")[1] for id in ids]
        assert [place["status"] for place in places] == ["running"] * slots + ["queued"] * 2
        assert [place["position"] for place in places[slots:]] == [1, 2]
        assert places[-1]["reason"] == "waiting for a slot"
        (listed,) = shared.admin("GET", "/v1/admin/queue?model=slow")[1]["models"]
        assert (listed["queueDepth"], listed["running"], listed["slots"]) == (2, slots, slots)

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
