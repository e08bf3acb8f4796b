"""The `service_tier` and the cache tag of a request's body."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from flask.testing import FlaskClient

from api.inference.dialects.options import cache_tag_of_key
from generation.generation import Generation
from tests.api.conftest import KEY, OTHER_KEY
from tests.support.api_fakes import Fakes

MESSAGES = [{"role": "user", "content": "Hi"}]
BODIES: dict[str, dict[str, Any]] = {
    "responses": {"model": "demo", "input": "Hi"},
    "chat/completions": {"model": "demo", "messages": MESSAGES},
    "messages": {"model": "demo", "max_tokens": 7, "messages": MESSAGES},
}


def tag_of(fakes: Fakes) -> str | None:
    owner = Generation.from_json(fakes.ledger.only().generation).cache_owner
    assert owner is not None
    return owner.tag


@pytest.mark.parametrize(
    ("tier", "headers", "priority", "used"),
    [
        ("auto", {}, "normal", "default"),
        ("auto", {"X-Priority": "high"}, "high", "priority"),
        ("default", {}, "normal", "default"),
        ("flex", {}, "low", "flex"),
        ("priority", {}, "high", "priority"),
        ("fast", {}, "high", "priority"),
        ("priority", {"X-Priority": "low"}, "low", "flex"),
        ("priority", {"Authorization": f"Bearer {OTHER_KEY}"}, "normal", "default"),
    ],
)
@pytest.mark.parametrize("path", ["responses", "chat/completions"])
def test_tier_is_a_priority_when_openai_names_it(
    http: FlaskClient,
    fakes: Fakes,
    *,
    path: str,
    tier: str,
    headers: dict[str, str],
    priority: str,
    used: str,
) -> None:
    answer = http.post(f"/v1/{path}", json=BODIES[path] | {"service_tier": tier}, headers=headers)
    assert (fakes.ledger.only().priority, answer.json["service_tier"]) == (priority, used)


@pytest.mark.parametrize(
    ("tier", "headers", "priority", "used"),
    [
        (None, {}, "normal", "standard"),
        ("auto", {"X-Priority": "high"}, "high", "priority"),
        ("standard_only", {}, "normal", "standard"),
        ("standard_only", {"X-Priority": "low"}, "low", "standard"),
    ],
)
def test_tier_is_in_the_usage_when_anthropic_names_it(
    http: FlaskClient, fakes: Fakes, *, tier: str | None, headers: dict[str, str], priority: str, used: str
) -> None:
    answer = http.post("/v1/messages", json=BODIES["messages"] | {"service_tier": tier}, headers=headers)
    assert (fakes.ledger.only().priority, answer.json["usage"]["service_tier"]) == (priority, used)


@pytest.mark.parametrize("path", ["responses", "chat/completions", "messages"])
@pytest.mark.parametrize("tier", ["on_demand", "best"])
def test_tier_of_another_vendor_leaves_the_priority_as_it_is(
    http: FlaskClient, fakes: Fakes, path: str, tier: str
) -> None:
    answer = http.post(f"/v1/{path}", json=BODIES[path] | {"service_tier": tier})
    assert (answer.status_code, fakes.ledger.only().priority) == (200, "normal")
    used = answer.json["usage"] if path == "messages" else answer.json
    assert used["service_tier"] == ("standard" if path == "messages" else "default")


def test_tier_is_what_the_sdks_read(sdk: openai.OpenAI, port: int) -> None:
    assert sdk.responses.create(**BODIES["responses"], service_tier="flex").service_tier == "flex"
    chunks = list(sdk.chat.completions.create(**BODIES["chat/completions"], service_tier="flex", stream=True))
    assert {chunk.service_tier for chunk in chunks} == {"flex"}
    with anthropic.Anthropic(
        base_url=f"http://127.0.0.1:{port}", api_key=KEY, max_retries=0, _strict_response_validation=True
    ) as claude:
        message = claude.messages.create(**BODIES["messages"], service_tier="auto")
    assert message.usage.service_tier == "standard"


def test_stored_response_keeps_its_tier(http: FlaskClient) -> None:
    created = http.post("/v1/responses", json=BODIES["responses"] | {"service_tier": "flex"}).json
    assert http.get(f"/v1/responses/{created['id']}").json["service_tier"] == "flex"


@pytest.mark.parametrize("path", ["responses", "chat/completions"])
def test_cache_key_becomes_a_tag_when_no_header_names_one(http: FlaskClient, fakes: Fakes, path: str) -> None:
    body = BODIES[path] | {"prompt_cache_key": "Zoë's conversation " * 20}
    assert http.post(f"/v1/{path}", json=body).status_code == 200
    tag = tag_of(fakes)
    assert tag is not None
    assert (tag[:4], len(tag)) == ("pck-", 44)
    fakes.ledger.jobs.clear()
    http.post(f"/v1/{path}", json=body, headers={"X-Cache-Tag": "mine"})
    assert tag_of(fakes) == "mine"


def test_cache_key_is_bounded(http: FlaskClient) -> None:
    answer = http.post("/v1/responses", json=BODIES["responses"] | {"prompt_cache_key": "k" * 513})
    assert (answer.status_code, answer.json["error"]["param"]) == (400, "prompt_cache_key")


def test_tag_of_a_key_is_the_documented_one() -> None:
    # printf %s "my key" | sha256sum | cut -c 1-40
    tag = "pck-a0e12d601e10154fe5743fd6d2ba37492365077b"
    assert cache_tag_of_key({"prompt_cache_key": "my key"}) == tag
    assert cache_tag_of_key({"prompt_cache_key": ""}) is None


def test_tag_of_cache_control_is_the_request_s(http: FlaskClient, fakes: Fakes) -> None:
    given = {"type": "ephemeral", "ttl": "1h", "tag": "session-1"}
    assert http.post("/v1/messages", json=BODIES["messages"] | {"cache_control": given}).status_code == 200
    assert tag_of(fakes) == "session-1"
