"""/v1/admin/requests on a real ledger: filters, pages, one request, refused requests and their headers."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.http.client_facts import client_facts
from api.http.refused_requests import MAX_OF_TENANT, MAX_REQUESTS, RefusedRequests
from api.operations import requests_routes
from api.operations.requests_schema import RequestList, RequestObject
from scheduler import request_history
from scheduler.job import Status
from streams.events import Usage
from telemetry.request_ids import RequestIds
from tests.api.conftest import KEY
from tests.support.simulated_platform import SimulatedPlatform


@pytest.fixture
def ended(platform: SimulatedPlatform) -> list[str]:
    """A completed, a failed and a cancelled request, the latest first."""
    ids = [platform.admit("a", client=b'{"userAgent":"curl/8.5","cookie":"secret"}')]
    platform.advance_time(3)
    usage = Usage(10, 5, 8).encode()
    platform.release(platform.run(ids[0]), finish_reason="stop", usage=usage, tokens=15, first_ms=700)
    ids.append(platform.admit("b", model="org/beta"))
    platform.release(platform.run(ids[1]), Status.FAILED, code="engine_error", message="a secret text")
    ids.append(platform.admit("b", model="org/beta"))
    platform.ledger.cancel(ids[2], "b")
    platform.release(platform.run(ids[2]), Status.CANCELLED, code="cancelled")
    platform.expire()
    return ids[::-1]


def listed(admin: FlaskClient, query: str = "") -> dict[str, Any]:
    answer = admin.get(f"/v1/admin/requests?{query}")
    assert answer.status_code == 200, answer.text
    assert "secret" not in answer.text
    body: dict[str, Any] = answer.get_json()
    assert RequestList().validate(body) == {}
    return body


def test_the_list_has_the_latest_end_first_with_times_and_tokens(
    admin: FlaskClient, ended: list[str]
) -> None:
    body = listed(admin)
    assert ([row["id"] for row in body["data"]], body["has_more"], body["next_after"]) == (ended, False, None)
    cancelled, failed, completed = body["data"]
    assert (cancelled["status"], cancelled["code"]) == ("cancelled", "cancelled")
    assert (failed["status"], failed["code"], failed["httpStatus"]) == ("failed", "engine_error", 500)
    assert (completed["httpStatus"], completed["finishReason"], completed["api"]) == (200, "stop", "test")
    assert completed["tokens"] == {
        "input": 10, "output": 5, "cached": 8, "reasoning": 0, "audioMs": 0, "images": 0
    }  # fmt: skip
    assert completed["firstTokenMs"] == 700
    assert 3000 <= completed["runMs"] <= completed["totalMs"] < 5000
    assert completed["client"] == {"userAgent": "curl/8.5"}
    one = admin.get(f"/v1/admin/requests/{ended[2]}").get_json()
    assert one == completed
    assert RequestObject().validate(one) == {}


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("tenant=a", [2]),
        ("tenant=b&status=failed", [1]),
        ("model=org/beta", [0, 1]),
        ("code=engine_error", [1]),
        ("status=refused", []),
        ("since=2026-01-01T00:00:00Z", [0, 1, 2]),
        ("until=2026-01-01T00:00:00Z", []),
    ],
)
def test_filters_choose_requests(admin: FlaskClient, ended: list[str], query: str, places: list[int]) -> None:
    assert [row["id"] for row in listed(admin, query)["data"]] == [ended[place] for place in places]


def test_pages_follow_each_other_by_their_cursor(admin: FlaskClient, ended: list[str]) -> None:
    found, after = [], ""
    for _ in ended:
        body = listed(admin, f"limit=1{after}")
        found += [row["id"] for row in body["data"]]
        after = f"&after={body['next_after']}"
    assert found == ended
    assert body["has_more"] is False


def test_a_page_reads_on_where_one_call_ends(
    admin: FlaskClient, ended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_history, "MAX_READ", 1)
    monkeypatch.setattr(requests_routes, "MAX_READS", 2)
    body = listed(admin, "code=engine_error")
    assert ([row["id"] for row in body["data"]], body["has_more"]) == ([ended[1]], True)
    monkeypatch.setattr(requests_routes, "MAX_READS", 3)
    assert listed(admin, "tenant=a")["data"] == listed(admin, "limit=3")["data"][2:]


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("status=running", "status"),
        ("tenant=a%20b", "tenant"),
        ("model=%20", "model"),
        ("code=", "code"),
        ("since=yesterday", "since"),
        ("until=2026-01-01T00:00:00", "until"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("after=17", "after"),
        ("after=17.a%20b", "after"),
    ],
)
def test_a_malformed_parameter_is_refused_by_name(admin: FlaskClient, query: str, param: str) -> None:
    answer = admin.get(f"/v1/admin/requests?{query}")
    assert answer.status_code == 400
    assert answer.get_json()["error"]["param"] == param


def test_an_unknown_request_is_not_found(admin: FlaskClient) -> None:
    answer = admin.get("/v1/admin/requests/resp_unknown")
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["", "/resp_1"])
def test_the_history_needs_the_scope_admin(app: Flask, path: str) -> None:
    answer = app.test_client().get(f"/v1/admin/requests{path}", headers={"X-API-Key": KEY})
    assert answer.status_code == 403


# ---- what is kept of headers, and of refused requests


def test_facts_have_a_fixed_list_of_headers_cut_to_one_line() -> None:
    environ = {
        "HTTP_AUTHORIZATION": "Bearer secret",
        "HTTP_COOKIE": "secret",
        "HTTP_IDEMPOTENCY_KEY": "secret",
        "HTTP_X_FORWARDED_FOR": "secret",
        "HTTP_USER_AGENT": "sdk\n\u00e9" + "x" * 500,
        "HTTP_X_STAINLESS_RETRY_COUNT": "2",
        "CONTENT_TYPE": "application/json",
    }
    facts = client_facts(environ, "req_1", "/v1/responses", "key_1")
    assert b"secret" not in facts
    assert b"\n" not in facts
    assert len(facts) < 400
    assert b'"userAgent":"sdk??xxx' in facts
    assert b'"retryCount":"2"' in facts
    assert b'"hasIdempotencyKey":true' in facts


def ids_of(tenant: str | None, client: bytes = b"{}") -> RequestIds:
    ids = RequestIds()
    ids.tenant, ids.client = tenant, client
    return ids


def test_refused_requests_of_a_tenant_are_bounded_and_leave_room_for_others() -> None:
    refused = RefusedRequests()
    for _ in range(3 * MAX_OF_TENANT):
        refused.add(ids_of("hog"), "rate_limited")
    refused.add(ids_of("small"), "queue_full")
    refused.add(ids_of(None), "invalid_api_key")
    refused.add(ids_of("small", b""), "not_found")  # no request for a model
    assert [request.tenant for request in refused.take()] == ["hog"] * MAX_OF_TENANT + ["small"]
    assert refused.take() == []
    for number in range(2 * MAX_REQUESTS):
        refused.add(ids_of(f"tenant{number}"), "queue_full")
    assert len(refused.take()) == MAX_REQUESTS
