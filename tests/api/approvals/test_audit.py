"""/v1/governance/audit: pages, filters, NDJSON and the signed head of a real chain."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.approvals import audit_export
from api.approvals.audit_schema import AuditHead, AuditPage
from api.services import AppServices
from api.wiring import make_services
from config.settings import Settings
from fleet.fleet import Fleet
from governance.audit import AuditEvent, AuditLog, selection
from governance.audit.record import GENESIS, parse_record
from governance.audit.signed_head import parse_head
from governance.audit.verification import read_lines, verify
from governance.platform_key import KEY_FILE
from tests.api.conftest import ADMIN_KEY, KEY
from tests.support.audit import change_in_redis
from tests.support.waiting import wait_until

AUDIT = "/v1/governance/audit"


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return shared_settings


@pytest.fixture
def made_services(settings: Settings) -> AppServices:
    return make_services(settings)


@pytest.fixture
def http(app: Flask) -> FlaskClient:
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {ADMIN_KEY}"
    return client


def record(services: AppServices, count: int, **fields: str) -> None:
    values = {
        "actor": "one",
        "authority": "op token",
        "action": "load",
        "subject": "alpha",
        "outcome": "refused",
    }
    for number in range(count):
        services[AuditLog].store.add_pending(AuditEvent(**{**values, **fields}, detail={"number": number}))
    services[AuditLog].sync()


def page(http: FlaskClient, query: str = "") -> dict[str, Any]:
    answer = http.get(f"{AUDIT}?{query}")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json  # type: ignore[assignment]
    assert AuditPage().validate(body) == {}
    return body


def test_the_chain_is_read_page_by_page_in_both_orders(http: FlaskClient, services: AppServices) -> None:
    record(services, 5)
    for order, numbers in (("oldest", [1, 2, 3, 4, 5]), ("newest", [5, 4, 3, 2, 1])):
        found, after = [], ""
        while True:
            body = page(http, f"limit=2&order={order}{after}")
            found += [row["number"] for row in body["data"]]
            assert len(body["data"]) <= 2
            if not body["has_more"]:
                break
            after = f"&after={body['next_after']}"
        assert found == numbers


def test_each_filter_selects_its_records(http: FlaskClient, services: AppServices) -> None:
    record(services, 2)
    record(services, 1, actor="two", action="unload", subject="beta", outcome="done", authority="admin key")
    for query in ("actor=two", "action=unload", "subject=beta", "outcome=done", "authority=admin%20key"):
        assert [row["number"] for row in page(http, query)["data"]] == [3], query
    assert page(http, "actor=two&action=load")["data"] == []
    first, last = (page(http, f"order={order}&limit=1")["data"][0]["at"] for order in ("oldest", "newest"))
    assert [row["number"] for row in page(http, f"since={last:.6f}")["data"]] == [3]
    assert page(http, f"until={first:.6f}")["data"] == []
    assert len(page(http, "since=2020-01-01T00:00:00Z&until=2999-01-01T00:00:00%2B02:00")["data"]) == 3


def test_one_page_looks_at_a_bounded_number_of_records(
    http: FlaskClient, services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.approvals.audit_routes.MAX_READ", 4)
    monkeypatch.setattr(selection, "STEP", 2)
    record(services, 6)
    record(services, 1, actor="two")
    body = page(http, "actor=two")
    assert (body["data"], body["has_more"], body["next_after"]) == ([], True, 4)
    assert [row["number"] for row in page(http, "actor=two&after=4")["data"]] == [7]


@pytest.mark.parametrize("how", ["format=ndjson", "accept"])
def test_ndjson_has_the_records_exactly_as_their_digests_were_computed(
    http: FlaskClient, services: AppServices, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "STEP", 3)
    monkeypatch.setattr(audit_export, "STEP", 3)
    record(services, 8)
    headers = {"Accept": "application/x-ndjson"} if how == "accept" else {}
    answer = http.get(f"{AUDIT}?{how if '=' in how else ''}", headers=headers)
    assert answer.content_type == "application/x-ndjson"
    lines = answer.data.splitlines()
    assert [parse_record(line).number for line in lines] == list(range(1, 9))
    assert verify(read_lines(lines, "")).finding is None
    limited = http.get(f"{AUDIT}?format=ndjson&limit=4&after=2").data.splitlines()
    assert [json.loads(line)["number"] for line in limited] == [3, 4, 5, 6]
    assert http.get(f"{AUDIT}?format=ndjson&actor=none").data == b""


def test_a_damaged_record_is_listed_by_its_number_and_exported_as_it_is(
    http: FlaskClient, services: AppServices
) -> None:
    record(services, 3)
    change_in_redis(services[AuditLog], 2, lambda line: line.replace(b",", b"\n,"))
    assert page(http)["damaged"] == [2]
    assert [row["number"] for row in page(http)["data"]] == [1, 3]
    lines = http.get(f"{AUDIT}?format=ndjson").data.splitlines()
    assert len(lines) == 3
    finding = verify(read_lines(lines, "")).finding
    assert finding is not None
    assert finding.number == 2


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=1001", "limit"),
        ("limit=10001&format=ndjson", "limit"),
        ("limit=-1", "limit"),
        ("after=x", "after"),
        ("order=random", "order"),
        ("format=csv", "format"),
        ("since=yesterday", "since"),
        ("since=2026-01-31T12:00:00", "since"),
        ("until=" + "9" * 50, "until"),
        ("actor=" + "x" * 257, "actor"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_name(http: FlaskClient, query: str, param: str) -> None:
    answer = http.get(f"{AUDIT}?{query}")
    assert (answer.status_code, answer.json["error"]["param"]) == (400, param)


def test_the_chain_is_for_keys_with_the_scope_governance_only(http: FlaskClient) -> None:
    for path in (AUDIT, f"{AUDIT}/head"):
        refused = http.get(path, headers={"Authorization": f"Bearer {KEY}"})
        assert (refused.status_code, refused.json["error"]["code"]) == (403, "governance_required")


def test_the_head_is_that_of_the_last_record_and_signed(http: FlaskClient, services: AppServices) -> None:
    empty = http.get(f"{AUDIT}/head").json
    assert (empty["number"], empty["digest"]) == (0, GENESIS)
    record(services, 3)
    values = http.get(f"{AUDIT}/head").json
    assert AuditHead().validate(values) == {}
    head, last = parse_head(values), page(http, "order=newest&limit=1")["data"][0]
    assert (head.number, head.digest) == (3, last["digest"])
    assert values["runner"] == services[Fleet].runner_id()


def test_a_head_that_cannot_be_signed_is_an_error_without_the_path_of_the_key(
    http: FlaskClient, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    (settings.data_dir / KEY_FILE).write_text("no key")
    (settings.data_dir / KEY_FILE).chmod(0o600)
    answer = http.get(f"{AUDIT}/head")
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "key_unusable")
    assert KEY_FILE not in answer.text
    assert KEY_FILE in caplog.text


def test_an_event_of_a_script_enters_the_chain_without_a_request(
    http: FlaskClient, services: AppServices
) -> None:
    services[AuditLog].store.add_pending(AuditEvent("platform", "platform", "load", "alpha", "begun"))
    wait_until(lambda: page(http)["data"])
    assert services[AuditLog].store.waiting().events == ()
