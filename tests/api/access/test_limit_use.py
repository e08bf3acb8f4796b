"""/v1/admin/limits on two API processes: what tenants use, and how often they were refused."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from config.api_keys import digest_of
from scheduler.job import Claim
from tests.conftest import ValkeyServer
from tests.support.served_api import Served, serving
from tests.support.waiting import scaled, wait_until

TENANTS = {
    "boss": {"admin": True},
    "limited": {"rate_limit": "2req/hour", "token_limit": "100000tok/hour"},
    "spender": {},
    "queued": {"max_running": 1, "max_waiting": 1},
    "quiet": {},
}


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    tenants = {
        name: {**limits, "api_keys_sha256": [digest_of(f"sk-{name}")]} for name, limits in TENANTS.items()
    }
    variables = {"STOKER_API__PROCESSES": "2", "ENABLE_METRICS": "false"}
    with serving(
        shared_server, tmp_path_factory.mktemp("use"), variables, slots=8, tenants=tenants
    ) as served:
        yield served


def call(
    served: Served, path: str, key: str, body: object = None, method: str | None = None
) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(served.url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=scaled(20)) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def ask(served: Served, key: str, **fields: Any) -> int:
    return call(served, "/v1/responses", key, {"model": "alpha", "input": "Hi", **fields})[0]


def use_of(served: Served, tenant: str) -> dict[str, Any]:
    status, row = call(served, f"/v1/admin/tenants/{tenant}/limits", "sk-boss")
    assert status == 200, row
    return dict(row)


def test_refusals_of_all_processes_are_counted_for_their_tenant(served: Served) -> None:
    served.handle = served.answer_hello
    assert [ask(served, "sk-limited") for _ in range(2)] == [200, 200]
    assert {ask(served, "sk-limited") for _ in range(12)} == {429}
    assert {ask(served, "sk-nobody") for _ in range(3)} == {401}
    counts = {"code": "rate_limit_exceeded", "status": 429, "last_5_minutes": 12, "last_hour": 12}
    wait_until(lambda: use_of(served, "limited")["refusals"] == [counts], 20)
    _, listing = call(served, "/v1/admin/limits", "sk-boss")
    rows = {row["tenant"]: row for row in listing["data"]}
    assert rows.keys() == {"boss", "default", "limited", "queued", "quiet", "spender"}
    assert [name for name, row in rows.items() if row["refusals"]] == ["limited"]
    row = rows["limited"]
    assert row["at_limit"] == ["requests"]
    requests = row["requests"]
    assert (requests["most"], requests["remaining"], requests["window_s"]) == (2, 0, 3600)
    assert 0 < requests["reset_s"] <= 3600
    assert row["tokens"]["most"] == 100_000
    assert row["tokens"]["remaining"] < 100_000
    assert rows["quiet"]["requests"] is None


def test_running_and_waiting_requests_are_shown_while_they_are_there(served: Served) -> None:
    claims = {}
    served.handle = lambda claim: claims.update({claim.id: claim})
    for _ in range(2):
        assert ask(served, "sk-queued", background=True, store=True) == 200
    assert ask(served, "sk-queued", background=True, store=True) == 503
    use = use_of(served, "queued")
    assert use["running"] == {"most": 1, "used": 1}
    assert use["waiting"] == {"most": 1, "used": 1, "model": "alpha", "all_models": 1}
    assert use["at_limit"] == ["running", "waiting"]
    assert use["bytes"]["most"] == 1 << 30
    wait_until(lambda: len(claims) == 1, 20)
    served.handle = served.answer_hello
    served.answer_hello(*claims.values())
    wait_until(lambda: use_of(served, "queued")["at_limit"] == [], 20)
    wait_until(lambda: [row["code"] for row in use_of(served, "queued")["refusals"]] == ["queue_full"], 20)


def test_a_budget_refuses_in_all_processes_until_an_administrator_raises_it(served: Served) -> None:
    def answer(claim: Claim) -> None:
        usage = b'{"input_tokens":7,"output_tokens":3}'
        served.platform.release(claim, finish_reason="stop", usage=usage, tokens=10)

    def change(key: str = "sk-boss", **fields: Any) -> tuple[int, Any]:
        return call(served, "/v1/admin/tenants/spender", key, fields, "PATCH")

    def wait_for(status: int) -> None:
        """Wait until both processes answer so."""
        wait_until(lambda: {ask(served, "sk-spender") for _ in range(12)} == {status}, 20)

    served.handle = answer
    assert [ask(served, "sk-spender") for _ in range(2)] == [200, 200]
    served.platform.expire()
    assert call(served, "/v1/account", "sk-spender")[1]["limits"]["budget"] is None
    _, changed = change(budget_tokens=20, budget_soft=0.5)
    assert (changed["budget_tokens"], changed["budget_gpu_s"], changed["budget_soft"]) == (20, None, 0.5)
    wait_for(429)
    body = {"model": "alpha", "messages": [{"role": "user", "content": "Hi"}]}
    _, refused = call(served, "/v1/chat/completions", "sk-spender", body)
    error, budget = refused["error"], use_of(served, "spender")["budget"]
    assert (error["code"], error["unit"], error["limit"]) == ("budget_exceeded", "tokens", 20)
    # further requests that were admitted before may end meanwhile
    assert 20 <= error["used"] <= budget["tokens"]["used"]
    assert budget["tokens"]["most"] == 20
    assert (budget["gpu_s"]["most"], budget["soft"], budget["resets_at"]) == (None, 0.5, error["resetAt"])
    wait_until(lambda: call(served, "/v1/account", "sk-spender")[1]["limits"]["at_limit"] == ["budget"], 20)
    assert change("sk-spender", budget_tokens=10**9)[0] == 403, "a tenant does not change its own budget"
    for problem in ({"budget_tokens": 0}, {"budget_gpu_s": 1.5}, {"budget_soft": 2}):
        status, refused = change(**problem)
        assert (status, refused["error"]["param"]) == (422, *problem)
    change(budget_tokens=10**6)
    wait_for(200)
    served.platform.expire()
    change(budget_tokens=5)
    wait_for(429)
    change(budget_tokens=None)
    wait_for(200)
    assert use_of(served, "spender")["budget"] is None


def test_limits_have_pages_and_need_an_administrator(served: Served) -> None:
    _, page = call(served, "/v1/admin/limits?limit=2&after=boss", "sk-boss")
    assert [row["tenant"] for row in page["data"]] == ["default", "limited"]
    assert (page["has_more"], page["last_id"]) == (True, "limited")
    assert call(served, "/v1/admin/limits?limit=0", "sk-boss")[1]["data"] == []
    assert call(served, "/v1/admin/limits", "sk-quiet")[0] == 403
    status, problem = call(served, "/v1/admin/tenants/nobody/limits", "sk-boss")
    assert (status, problem["error"]["code"]) == (404, "not_found")
