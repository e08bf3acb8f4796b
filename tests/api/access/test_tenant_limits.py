"""The limits of tenants on a running API: its 429, and what OpenAI's SDK sees of it."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import openai
import pytest

from config.api_keys import digest_of
from scheduler.job import Claim
from tests.conftest import ValkeyServer
from tests.support.served_api import Served, serving
from tests.support.waiting import scaled, wait_until

TENANTS = {
    "community-x": {"rate_limit": "3req/min"},
    "community-y": {"token_limit": "1000tok/min"},
    "streamer": {"max_streams": 3, "max_readers": 2},
    "bounded": {"max_running": 1},
    "free": {},
}


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    tenants = {
        name: {**limits, "api_keys_sha256": [digest_of(f"sk-{name}")]} for name, limits in TENANTS.items()
    }
    folder = tmp_path_factory.mktemp("limits")
    variables = {
        "TENANT_RATE_LIMIT_free": "9999req/hour",
        "TENANT_RATE_LIMIT_default": "2req/min",
        "STOKER_TENANCY__TRUSTED_PROXIES": "127.0.0.1",
    }
    with serving(shared_server, folder, variables, slots=32, tenants=tenants) as served:
        yield served


def ask(
    served: Served, tenant: str, path: str = "/v1/responses", *, proxy: bool = False, **fields: Any
) -> http.client.HTTPResponse:
    """Send a request, with the tenant's key or as a trusted proxy.

    The answer is open, and its connection ends with it.
    """
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=scaled(20))
    caller = {"X-Tenant-ID": tenant} if proxy else {"Authorization": f"Bearer sk-{tenant}"}
    headers = {**caller, "Content-Type": "application/json"}
    key = fields.pop("idempotency_key", None)
    if key is not None:
        headers["Idempotency-Key"] = key
    if path == "/v1/responses":
        connection.request("POST", path, json.dumps({"model": "alpha", "input": "Hi", **fields}), headers)
    else:
        connection.request("GET", path, headers=headers)
    return connection.getresponse()


@pytest.mark.rule("runner/rate-limit-exceeded")
def test_a_tenant_over_its_rate_limit_gets_the_429_of_the_model_runner_api(served: Served) -> None:
    served.handle = served.answer_hello
    kinds: list[dict[str, Any]] = [{}, {"stream": True}, {"background": True, "store": True}]
    for left, fields in zip((2, 1, 0), kinds, strict=True):
        answer = ask(served, "community-x", **fields)
        assert answer.status == 200
        assert answer.headers["x-ratelimit-limit-requests"] == "3"
        assert answer.headers["x-ratelimit-remaining-requests"] == str(left)
        assert answer.headers["x-ratelimit-reset-requests"] == "1m0s"
        answer.read()
    for _ in range(3):
        answer = ask(served, "community-x")
        error = json.loads(answer.read())["error"]
        assert answer.status == 429
        assert error == {
            "code": "rate_limit_exceeded",
            "message": "Tenant community-x exceeded 3 req/min",
            "limit": 3,
            "remaining": 0,
            "resetAt": error["resetAt"],
            "type": "rate_limit_error",
            "param": None,
        }
        assert time.time() < error["resetAt"] <= time.time() + 61
        wait_s = int(answer.headers["Retry-After"])
        assert error["resetAt"] - time.time() == pytest.approx(wait_s, abs=scaled(2))
        assert answer.headers["x-ratelimit-remaining-requests"] == "0"
    assert ask(served, "free").status == 200


@pytest.mark.rule("runner/rate-limit-exceeded")
def test_the_sdk_of_openai_sees_a_rate_limit_error(served: Served) -> None:
    served.handle = served.answer_hello
    with openai.OpenAI(api_key="sk-community-y", base_url=f"{served.url}/v1", max_retries=0) as client:
        first = client.responses.with_raw_response.create(model="alpha", input="Hi", max_output_tokens=600)
        assert first.headers["x-ratelimit-limit-tokens"] == "1000"
        assert 300 < int(first.headers["x-ratelimit-remaining-tokens"]) < 400
        with pytest.raises(openai.RateLimitError) as caught:
            client.responses.create(model="alpha", input="Hi", max_output_tokens=900)
    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.body["resetAt"] > time.time()  # type: ignore[index]


def test_a_request_that_exceeds_the_whole_limit_of_tokens_is_invalid(served: Served) -> None:
    served.handle = served.answer_hello
    with (
        openai.OpenAI(api_key="sk-community-y", base_url=f"{served.url}/v1", max_retries=0) as client,
        pytest.raises(openai.BadRequestError) as caught,
    ):
        client.responses.create(model="alpha", input="Hi", max_output_tokens=999)
    assert caught.value.code == "request_exceeds_token_limit"
    assert caught.value.response.headers["x-should-retry"] == "false"


@pytest.mark.rule("runner/tenant-rate-limits")
def test_a_variable_sets_the_limit_of_a_tenant(served: Served) -> None:
    served.handle = served.answer_hello
    assert ask(served, "free").headers["x-ratelimit-limit-requests"] == "9999"


@pytest.mark.rule("runner/default-rate-limit")
def test_each_name_of_no_tenant_has_the_limit_of_default_to_itself(served: Served) -> None:
    served.handle = served.answer_hello
    for name in ("community-a", "community-b"):
        statuses = [ask(served, name, proxy=True).status for _ in range(2)]
        refused = ask(served, name, proxy=True)
        assert (statuses, refused.status) == ([200, 200], 429)
        assert json.loads(refused.read())["error"]["message"] == f"Tenant {name} exceeded 2 req/min"


def test_one_tenant_cannot_take_all_streams(served: Served) -> None:
    """As many clients as its limit, of which two may read one response; other tenants are served."""
    served.handle = lambda claim: served.platform.append_text(claim, 1, "Hel")  # and no end
    with ExitStack() as stack:

        def follow(tenant: str, **fields: Any) -> int:
            return stack.enter_context(ask(served, tenant, **fields)).status

        first = stack.enter_context(ask(served, "streamer", stream=True, store=True))
        assert first.readline() == b"event: response.created\n"
        created = json.loads(first.readline().removeprefix(b"data: "))
        path = f"/v1/responses/{created['response']['id']}?stream=true"
        assert follow("streamer", path=path) == 200
        refused = ask(served, "streamer", path=path)
        error = json.loads(refused.read())["error"]
        assert (refused.status, error["code"]) == (429, "too_many_streams")
        assert "2 readers" in error["message"]
        assert follow("streamer", stream=True) == 200
        assert follow("streamer", stream=True) == 429
        assert follow("free", stream=True) == 200
    # the streams that are closed do not count
    wait_until(lambda: ask(served, "streamer", stream=True).status == 200, 5)


def test_a_request_over_the_bound_on_running_ones_waits(served: Served) -> None:
    claims: dict[str, Claim] = {}  # also of requests whose clients have left in another test
    served.handle = lambda claim: claims.update({claim.id: claim})
    first = ask(served, "bounded", background=True, store=True)
    second = ask(served, "bounded", background=True, store=True)
    ids = [json.loads(answer.read())["id"] for answer in (first, second)]
    wait_until(lambda: ids[0] in claims)
    assert [served.platform.status(id) for id in ids] == ["running", "queued"]
    served.handle = served.answer_hello
    served.answer_hello(claims[ids[0]])
    wait_until(lambda: served.platform.status(ids[1]) == "completed")
    assert [served.platform.status(id) for id in ids] == ["completed", "completed"]
