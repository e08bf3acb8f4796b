"""`stoker requests`: the table, its pages and filters, and one request with its times."""

from __future__ import annotations

import json

from scheduler import request_history
from stoker.request_commands import STATUSES
from stoker.usage import COLUMNS
from tests.stoker.conftest import UNKNOWN_TENANT

REQUEST = {
    "id": "resp_1",
    "tenant": "acme",
    "model": "m",
    "api": "responses",
    "status": "completed",
    "code": None,
    "finishReason": "stop",
    "endedAt": 1745880070.5,
    "totalMs": 10400,
    "waitedMs": 8300,
    "loadMs": 8100,
    "firstTokenMs": 120,
    "runMs": 2100,
    "dispatches": 1,
    "worker": "gpu0",
    "replica": "m#1.0",
    "movedFrom": None,
    "tokens": {"input": 40, "cached": 32, "output": 84},
    "client": {"userAgent": "curl/8.5"},
}
REFUSED = {
    **REQUEST,
    "id": "req_2",
    "model": None,
    "status": "refused",
    "code": "queue_full",
    **dict.fromkeys(("totalMs", "waitedMs", "firstTokenMs", "tokens")),
}
FIRST = "/v1/admin/requests?tenant=acme&limit=50"


def test_the_requests_are_a_table_of_all_pages(api, run):
    api.answers = {
        FIRST: [(200, {"data": [REQUEST], "has_more": True, "next_after": "17.resp_1"})],
        "/v1/admin/requests?tenant=acme&limit=49&after=17.resp_1": [
            (200, {"data": [REFUSED], "has_more": False, "next_after": None})
        ],
    }
    code, output = run("requests", "--tenant", "acme")
    assert code == 0
    _, first, second = [line.split()[2:] for line in output.splitlines()]
    assert first == ["resp_1", "acme", "m", "completed", "10.4", "s", "8.3", "s", "120", "ms", "40/32/84"]
    assert second == ["req_2", "acme", "refused", "(queue_full)"]


def test_the_requests_are_printed_as_json(api, run):
    api.answers = {FIRST: [(200, {"data": [REQUEST], "has_more": False, "next_after": None})]}
    code, output = run("requests", "--tenant", "acme", "--json")
    assert (code, json.loads(output)) == (0, [REQUEST])


def test_a_tenant_that_does_not_exist_is_noted_when_no_request_is_found(api, run):
    none = {"data": [], "has_more": False, "next_after": None}
    note = "there is no tenant acne; did you mean acme?"
    api.answers = {"/v1/admin/requests?tenant=acne&limit=50": [(200, none)], **UNKNOWN_TENANT}
    code, output = run("requests", "--tenant", "acne")
    assert (code, output.splitlines()[0]) == (0, note)
    assert run("requests", "--tenant", "acne", "--json")[1].splitlines() == [f'{{"note": "{note}"}}', "[]"]


def test_the_usage_of_a_tenant_that_does_not_exist_has_a_note(api, run):
    report = {"data": [], "totals": dict.fromkeys(COLUMNS, 0)}
    api.answers = {"/v1/admin/usage?tenant=acne": [(200, report)], **UNKNOWN_TENANT}
    code, output = run("usage", "--tenant", "acne")
    assert (code, output.splitlines()[0]) == (0, "there is no tenant acne; did you mean acme?")


def test_one_request_has_the_parts_of_its_time(api, run):
    api.answers = {"/v1/admin/requests/resp_1": [(200, REQUEST)]}
    code, output = run("requests", "resp_1")
    assert code == 0
    facts = dict(line.split("  ", 1) for line in output.splitlines())
    facts = {name: value.strip() for name, value in facts.items()}
    assert [facts[name] for name in ("load", "queue", "prompt", "answer", "total")] == [
        "8.1 s",
        "200 ms",
        "120 ms",
        "2.0 s",
        "10.4 s",
    ]
    assert facts["client: userAgent"] == "curl/8.5"
    assert "lost replica" not in facts


def test_an_id_and_a_filter_are_refused(run):
    code, output = run("requests", "resp_1", "--tenant", "acme")
    assert code == 2
    assert "filters go without the id" in output


def test_the_statuses_are_those_of_the_history():
    assert STATUSES == request_history.STATUSES
