"""/v1/account on a running API: a tenant's keys read what is its own, and nothing of other tenants."""

from __future__ import annotations

import csv
import http.client
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config.api_keys import digest_of
from scheduler.job import Claim, Status
from scheduler.usage import EPOCH
from tests.conftest import ValkeyServer
from tests.support.served_api import Served, serving
from tests.support.waiting import scaled, wait_until

TENANTS = {
    "boss": {"admin": True},
    "acme": {"rate_limit": "40req/hour"},
    "other": {},
    "tiny": {"rate_limit": "1req/hour", "keep_texts": True},
}
ROUTES = ("/v1/account", "/v1/account/keys", "/v1/account/usage", "/v1/account/usage?format=csv")
FORMULA = '=HYPERLINK("http://x")'
TODAY = datetime.now(UTC).date()


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    tenants = {
        name: {**limits, "api_keys_sha256": [digest_of(f"sk-{name}")]} for name, limits in TENANTS.items()
    }
    variables = {"STOKER_TENANCY__TRUSTED_PROXIES": "127.0.0.1"}
    folder = tmp_path_factory.mktemp("account")
    with serving(shared_server, folder, variables, slots=8, tenants=tenants) as served:
        yield served


def call(
    served: Served, path: str, key: str | None, body: object = None, method: str = "", **headers: str
) -> tuple[int, Any, http.client.HTTPResponse]:
    """The status, the JSON or text, and the answer itself."""
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=scaled(20))
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if key is not None:
        sent["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body)
    if data is not None:
        sent["Content-Type"] = "application/json"
    connection.request(method or ("GET" if data is None else "POST"), path, data, sent)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    is_json = answer.headers["Content-Type"].startswith("application/json")
    return answer.status, json.loads(text) if is_json else text, answer


def read(served: Served, path: str, key: str | None, **headers: str) -> Any:
    status, body, _ = call(served, path, key, **headers)
    assert status == 200, body
    return body


def new_key(served: Served, tenant: str, **fields: Any) -> tuple[str, str]:
    """A key of a tenant: the key itself, and its id."""
    status, body, _ = call(served, "/v1/admin/keys", "sk-boss", {"tenant": tenant, **fields})
    assert status == 201, body
    return body["key"], body["id"]


def ask(served: Served, key: str | None, **fields: Any) -> int:
    headers = fields.pop("headers", {})
    body = {"model": "alpha", "input": "Hi", **fields}
    return call(served, "/v1/responses", key, body, **headers)[0]


def answer_with_usage(served: Served, claim: Claim) -> None:
    served.platform.append_text(claim, 1, "Hello")
    served.platform.release(
        claim, finish_reason="stop", usage=b'{"input_tokens":7,"output_tokens":3}', tokens=10
    )


def rows_of(served: Served, key: str, words: str = "") -> dict[tuple[Any, ...], Any]:
    report = read(served, f"/v1/account/usage?{words}", key)
    return {tuple(row[name] for name in report["group_by"]): row for row in report["data"]}


def test_a_key_sees_the_limits_and_keys_of_its_own_tenant_only(served: Served) -> None:
    served.handle = lambda claim: answer_with_usage(served, claim)
    _, id = new_key(served, "acme", label="laptop", models=["alpha"])
    assert ask(served, "sk-acme") == 200
    account = read(served, "/v1/account", "sk-acme")
    assert (account["tenant"], account["limits"]["tenant"]) == ("acme", "acme")
    assert account["limits"]["requests"]["most"] == 40
    assert account["keep_texts"] is False
    assert read(served, "/v1/account", "sk-tiny")["keep_texts"] is True
    assert account["key"] == f"key_config_{digest_of('sk-acme')[:12]}"
    listed = read(served, "/v1/account/keys", "sk-acme")["data"]
    assert {key["id"] for key in listed} == {id, account["key"]}
    assert {key["tenant"] for key in listed} == {"acme"}
    assert "sk-" not in json.dumps(listed)
    assert len(read(served, "/v1/account/keys?limit=1", "sk-acme")["data"]) == 1
    assert read(served, "/v1/account", "sk-other")["tenant"] == "other"
    assert [key["tenant"] for key in read(served, "/v1/account/keys", "sk-other")["data"]] == ["other"]


def test_usage_is_counted_by_model_and_key_for_streams_and_failures_and_not_for_refusals(
    served: Served,
) -> None:
    served.handle = lambda claim: answer_with_usage(served, claim)
    today = str(datetime.now(UTC).date())  # midnight may have passed since this module was imported
    streaming, id = new_key(served, "other", label=FORMULA)
    assert ask(served, streaming, stream=True) == 200
    assert ask(served, streaming) == 200
    served.handle = lambda claim: served.platform.release(claim, status=Status.FAILED, code="engine_error")
    assert ask(served, "sk-other") == 500
    served.handle = lambda claim: answer_with_usage(served, claim)
    assert [ask(served, "sk-tiny") for _ in range(2)] == [200, 429]
    served.platform.expire()
    own = f"key_config_{digest_of('sk-other')[:12]}"
    rows = rows_of(served, "sk-other")
    assert set(rows) == {(today, "alpha", id), (today, "alpha", own)}
    streamed = rows[today, "alpha", id]
    assert (streamed["requests"], streamed["succeeded"], streamed["input_tokens"]) == (2, 2, 14)
    failed = rows[today, "alpha", own]
    assert (failed["requests"], failed["succeeded"], failed["key_label"]) == (1, 0, "")
    assert [row["requests"] for row in rows_of(served, "sk-tiny").values()] == [1]
    assert [row["requests"] for row in rows_of(served, "sk-other", "group_by=model").values()] == [3]
    same = read(served, "/v1/admin/tenants/other/usage", "sk-boss")
    assert same == read(served, "/v1/account/usage", streaming)
    answer = read(served, "/v1/account/usage", "sk-other", Accept="text/csv")
    table = {row["key"]: row for row in csv.DictReader(io.StringIO(answer))}
    assert table[id]["key_label"] == f"'{FORMULA}"
    assert (table[id]["model"], table[id]["output_tokens"]) == ("alpha", "6")


def test_the_usage_by_a_gateway_has_no_key_of_another_tenant(served: Served) -> None:
    served.handle = lambda claim: answer_with_usage(served, claim)
    gateway, id = new_key(served, "boss", scopes=["inference", "tenants"])
    call(served, "/v1/admin/tenants", "sk-boss", {"name": "guest"})
    assert ask(served, gateway, headers={"X_Tenant_ID": "guest"}) == 200
    served.platform.expire()
    guest, _ = new_key(served, "guest")
    report = read(served, "/v1/account/usage", guest)
    assert [(row["key"], row["requests"]) for row in report["data"]] == [(None, 1)]
    assert id not in json.dumps([report, read(served, "/v1/account/keys", guest)])
    assert read(served, "/v1/account", gateway, X_Tenant_ID="guest")["key"] is None


def test_a_name_that_is_no_tenant_s_has_no_account(served: Served) -> None:
    assert read(served, "/v1/account", None, X_Tenant_ID="acme")["tenant"] == "acme"
    for route in ROUTES:
        status, body, _ = call(served, route, None, X_Tenant_ID="stranger")
        assert (status, body["error"]["param"]) == (404, "X-Tenant-ID"), route


@pytest.mark.parametrize("route", ROUTES)
def test_a_key_that_may_not_read_an_account_is_refused(served: Served, route: str) -> None:
    measuring, _ = new_key(served, "acme", scopes=["metrics"])
    status, body, _ = call(served, route, measuring)
    assert (status, body["error"]["code"]) == (403, "inference_required")
    status, body, _ = call(served, route, "sk-other", X_Tenant_ID="acme")
    assert (status, body["error"]["code"]) == (403, "tenant_mismatch")
    revoked, id = new_key(served, "acme")
    assert call(served, route, revoked)[0] == 200
    assert call(served, f"/v1/admin/keys/{id}", "sk-boss", method="DELETE")[0] == 200
    wait_until(lambda: call(served, route, revoked)[0] == 401)


def test_a_session_of_the_chat_reads_the_account_and_no_tenant_as_an_administrator(served: Served) -> None:
    page = {"X_Stoker_UI": "1", "Sec_Fetch_Site": "same-origin"}
    _, _, answer = call(served, "/v1/session", None, {"key": "sk-boss"}, **page)
    page["Cookie"] = answer.headers["Set-Cookie"].partition(";")[0]
    assert read(served, "/v1/account", None, **page)["tenant"] == "boss"
    for path in (
        "/v1/admin/tenants/acme/usage",
        "/v1/admin/tenants/acme/limits",
        "/v1/admin/keys?tenant=acme",
    ):
        status, body, _ = call(served, path, None, **page)
        assert (status, body["error"]["code"]) == (403, "admin_sign_in_required"), path
        assert call(served, path, "sk-acme")[0] == 403
    assert call(served, "/v1/account", None, Cookie=page["Cookie"])[0] == 403  # of another page


def test_days_groups_and_tenants_that_are_not_there_are_refused(served: Served) -> None:
    first = TODAY - timedelta(100)
    for words, param in (
        ("group_by=tenant", "group_by"),
        ("group_by=", "group_by"),
        ("group_by=day,day", "group_by"),
        (f"from={first}", "from"),
        ("to=never", "to"),
        ("format=xml", "format"),
    ):
        for path, key in (("/v1/account/usage", "sk-acme"), ("/v1/admin/tenants/acme/usage", "sk-boss")):
            status, body, _ = call(served, f"{path}?{words}", key)
            assert (status, body["error"]["param"]) == (400, param), words
    assert call(served, "/v1/admin/tenants/nowhere/usage", "sk-boss")[0] == 404


def test_the_usage_has_the_days_that_were_asked_for_and_the_sums_of_its_groups(served: Served) -> None:
    key, id = new_key(served, "tiny", label="two models")
    prefix = served.platform.prefix
    for days_ago, rows in (
        (40, {f"alpha {id}": "9 9 9 9 0 0 0"}),
        (
            3,
            {
                f"alpha {id}": "1 1 5 2 0 0 1000",
                "beta key_gone": "2 1 4 4 4 0 0 1500 1 10",
                "other other": "5 5 5 5 0 0 0",
            },
        ),
    ):
        day = (TODAY - EPOCH).days - days_ago
        served.platform.client.hset(f"{prefix}key_usage:{day}:tiny", mapping=rows)
    words = f"to={TODAY - timedelta(2)}"
    assert {
        group: row["requests"] for group, row in rows_of(served, key, f"{words}&group_by=model,key").items()
    } == {
        ("alpha", id): 1,
        ("beta", "key_gone"): 2,
        ("other", "other"): 5,
    }
    report = read(served, f"/v1/account/usage?{words}&group_by=day", key)
    assert [(row["day"], row["requests"], row["audio_seconds"]) for row in report["data"]] == [
        (str(TODAY - timedelta(3)), 8, 1.5)
    ]
    assert report["totals"]["requests"] == 8
    assert rows_of(served, key, f"from={TODAY - timedelta(60)}&{words}&group_by=key")[(id,)]["requests"] == 10
