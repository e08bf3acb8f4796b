"""Receipts over HTTP, for responses of a real ledger."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
import redis
import rfc8785
from flask.testing import FlaskClient

from api.access.registry import AccessRegistry
from api.approvals.receipts_schema import Receipt
from api.services import AppServices
from api.wiring import make_services
from config.settings import ModelDefinition, Settings
from fleet.configuration_digest import definition_digest
from governance.authorization import Authorization
from governance.platform_key import is_signed
from governance.receipts import PREFIX
from tests.api.conftest import ADMIN_KEY, OTHER_KEY, tenants
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform

BODY = b'{ "model":"alpha",  "input": "hello", "background": true }'
SIGNED = Authorization("ops", "proposal", ("alice", "bob"))


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    known = tenants()
    known["one"] = replace(known["one"], receipts=True)
    return replace(
        shared_settings,
        lease=LONG_LEASE,
        tenants=known,
        models={"alpha": ModelDefinition("alpha", "stub")},
    )


@pytest.fixture
def made_services(settings: Settings) -> AppServices:
    return make_services(settings)


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=4)
    return platform


def ask(http: FlaskClient, body: bytes = BODY, **headers: str) -> str:
    answer = http.post("/v1/responses", data=body, content_type="application/json", headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json["id"])


def answer(platform: SimulatedPlatform, id: str, *texts: str) -> None:
    claim = platform.run(id)
    platform.append_text(claim, 1, *texts)
    platform.release(claim)


def receipt(http: FlaskClient, id: str) -> dict[str, Any]:
    answer = http.get(f"/v1/governance/receipts/{id}")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json  # type: ignore[assignment]
    assert Receipt().validate(body) == {}
    assert is_signed(PREFIX, body)
    return body


def test_a_receipt_has_the_digests_of_the_request_and_of_the_answer_that_the_client_received(
    http: FlaskClient, platform: SimulatedPlatform, settings: Settings
) -> None:
    id = ask(http)
    before = receipt(http, id)
    assert (before["answer"], before["endedAt"]) == (None, None)
    answer(platform, id, "hällo ", "wörld")
    after = receipt(http, id)
    response = http.get(f"/v1/responses/{id}").json
    text = response["output"][0]["content"][0]["text"]
    assert text == "hällo wörld"
    assert after["requestSha256"] == hashlib.sha256(BODY).hexdigest()
    assert after["answer"] == {
        "textSha256": hashlib.sha256(text.encode()).hexdigest(),
        "sha256": hashlib.sha256(rfc8785.dumps({"text": text, "toolCalls": []})).hexdigest(),
    }
    assert (after["status"], after["tenant"], after["model"]) == ("completed", "one", "alpha")
    assert after["definition"] == definition_digest(settings.models["alpha"], {})


def test_a_receipt_names_who_signed_the_load_also_after_the_platform_loaded_the_model_again(
    http: FlaskClient, client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    load = platform.fleet.load("alpha", authorization=SIGNED)
    platform.finish_load(load, slots=4)
    id = ask(http)
    answer(platform, id, "x")
    named = receipt(http, id)["loadedBy"]
    assert load.operation is not None
    assert (named["operation"], named["actor"], named["signers"]) == (
        load.operation.id,
        "ops",
        ["alice", "bob"],
    )
    assert receipt(http, id)["approvedBy"] == named
    platform.register()  # the worker was restarted, and the platform loads the model again
    platform.finish_load(platform.recovery.reload("alpha"), slots=4)
    id = ask(http)
    answer(platform, id, "x")
    again = receipt(http, id)
    assert again["loadedBy"]["authority"] == "platform"
    assert again["approvedBy"] == named


@pytest.mark.usefixtures("platform")
def test_a_receipt_is_for_its_own_tenant_and_unknown_to_others(http: FlaskClient) -> None:
    id = ask(http)
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    of_other = ask(http, Authorization=f"Bearer {OTHER_KEY}")
    for asked, headers in ((id, other), (of_other, other), (of_other, {}), ("resp_unknown", {})):
        refused = http.get(f"/v1/governance/receipts/{asked}", headers=headers)
        assert (refused.status_code, refused.json["error"]["code"]) == (404, "not_found")
        assert refused.json["error"]["message"] == f"there is no receipt for the response {asked}"


def test_a_request_of_a_tenant_without_receipts_leaves_no_digest(
    http: FlaskClient, platform: SimulatedPlatform, client: redis.Redis
) -> None:
    with_receipt, without = ask(http), ask(http, Authorization=f"Bearer {OTHER_KEY}")
    jobs = [client.hgetall(f"{platform.prefix}job:{id}") for id in (with_receipt, without)]
    assert set(jobs[0]) - set(jobs[1]) == {b"receipt"}


def test_a_response_that_is_not_stored_has_a_receipt_until_it_is_deleted(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    id = platform.admit("one", store=False, receipt="ab" * 32)
    answer(platform, id, "x")
    assert receipt(http, id)["requestSha256"] == "ab" * 32
    assert receipt(http, id)["answer"]["textSha256"] == hashlib.sha256(b"x").hexdigest()
    platform.run_for(61, "w1")
    assert http.get(f"/v1/governance/receipts/{id}").status_code == 404


@pytest.mark.usefixtures("platform")
def test_a_changed_receipt_has_no_valid_signature(http: FlaskClient) -> None:
    values = receipt(http, ask(http))
    assert not is_signed(PREFIX, values | {"model": "beta"})
    assert not is_signed(b"stoker-audit-head-v1\n", values)


def test_receipts_are_a_field_of_a_tenant_that_commands_set(http: FlaskClient, services: AppServices) -> None:
    admin = {"Authorization": f"Bearer {ADMIN_KEY}"}
    added = http.post("/v1/admin/tenants", json={"name": "acme", "receipts": True}, headers=admin)
    assert (added.status_code, added.json["receipts"]) == (201, True)
    assert services[AccessRegistry].identities.tenants["acme"].receipts
    changed = http.patch("/v1/admin/tenants/acme", json={"receipts": None}, headers=admin)
    assert changed.json["receipts"] is False
    assert json.loads(http.get("/v1/admin/tenants/two", headers=admin).text)["receipts"] is False
