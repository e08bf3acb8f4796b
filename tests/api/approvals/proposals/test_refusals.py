"""Requests for proposals that are refused: each changes nothing, and its reason is in the audit."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from config.settings import GovernanceRule, GovernanceSettings, Settings
from governance.audit import AuditLog
from governance.proposals.store import ProposalStore
from tests.api.approvals.proposals.conftest import ALICE, BOB, PROPOSALS, SIGNED, Api, Json
from tests.api.conftest import KEY
from tests.support.signers import KeyHolder, configured, revoked
from tests.support.simulated_platform import SimulatedPlatform

EVE = KeyHolder("eve")
LOAD = {"operation": "model-load", "body": {"modelId": "alpha"}}


def nested(levels: int) -> Any:
    return {} if levels == 0 else {"a": nested(levels - 1)}


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        ([], 400, "invalid_request", None),
        ({}, 400, "invalid_request", "operation"),
        ({"operation": "model-load"}, 400, "invalid_request", "body"),
        ({"operation": "model-delete", "body": {}}, 400, "invalid_request", "operation"),
        ({"operation": "model-load", "body": []}, 400, "invalid_request", "body"),
        ({"operation": "model-load", "body": {}}, 400, "invalid_request", "modelId"),
        ({"operation": "model-load", "body": {"modelId": 1}}, 400, "invalid_request", "modelId"),
        ({**LOAD, "signatures": []}, 400, "invalid_request", "signatures"),
        ({"operation": "model-load", "body": {"modelId": "alpha", "x": 1}}, 400, "invalid_request", "x"),
        ({"operation": "model-load", "body": {"modelId": "nope"}}, 404, "unknown_model", "modelId"),
        ({"operation": "model-unload", "body": {"modelId": "nope"}}, 404, "unknown_model", "modelId"),
        ({"operation": "cache-flush", "body": {"scope": "some"}}, 400, "invalid_request", "scope"),
        ({"operation": "access-change", "body": nested(60)}, 400, "invalid_request", "body.change"),
    ],
    ids=lambda part: str(part)[:50],
)
def test_a_body_that_cannot_be_proposed_is_refused_with_its_field(
    api: Api, body: Any, status: int, code: str, param: str | None
) -> None:
    assert api.error("POST", PROPOSALS, body)[:3] == (status, code, param)
    assert api.services[ProposalStore].page(10).proposals == ()
    assert set(api.actions()) <= {("boss", "governance key", "propose", "refused")}


def test_a_refused_proposal_is_in_the_audit_with_its_reason(api: Api) -> None:
    api.error("POST", PROPOSALS, {"operation": "model-load", "body": {"modelId": "nope"}})
    (record,) = api.services[AuditLog].records()
    assert (record.action, record.subject, record.outcome) == ("propose", "model-load", "refused")
    assert record.detail["code"] == "unknown_model"


@pytest.mark.parametrize("text", ['{"operation": "model-load"', "[" * 100_000, "nul", '"\\ud800"', "{}" * 2])
def test_a_body_that_is_no_json_is_refused(api: Api, text: str) -> None:
    answer = api.http.post(PROPOSALS, data=text, content_type="application/json")
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid_json")


def test_a_large_body_is_refused(api: Api) -> None:
    models = [f"model-{number}" for number in range(2000)]
    values = {"models": models}
    body = {"change": "create_key", "tenant": "one", "digest": "ab" * 32, "values": values}
    refused = api.error("POST", PROPOSALS, {"operation": "access-change", "body": body})
    assert refused[:3] == (400, "invalid_request", "body.values.models")
    body = {"change": "add_tenant", "name": "acme", "values": {"weight": 2**53 + 2}}
    assert api.error("POST", PROPOSALS, {"operation": "access-change", "body": body})[0] == 400


@pytest.mark.parametrize(
    ("rule", "signers", "missing"),
    [
        (GovernanceRule(), configured(ALICE), "its rule has the mode `attested`"),
        (GovernanceRule("signed", 1), {}, "its threshold is 1, and 0 of governance.signers may sign"),
        (
            GovernanceRule("signed", 2),
            revoked(configured(ALICE, BOB), "bob"),
            "its threshold is 2, and 1 of governance.signers may sign",
        ),
    ],
    ids=["attested", "without signers", "too many are revoked"],
)
def test_a_proposal_of_a_rule_that_cannot_be_met_is_refused_with_its_cause(
    start_api: Callable[..., Api], rule: GovernanceRule, signers: Any, missing: str
) -> None:
    api = start_api(rules={**GovernanceSettings().rules, "model-load": rule}, signers=signers)
    for path, body in ((PROPOSALS, LOAD), ("/v1/models/load", {"modelId": "alpha", "propose": True})):
        status, code, _, message = api.error("POST", path, body)
        assert (status, code) == (403, "governance_not_configured")
        if path == PROPOSALS:
            assert missing in message


def test_a_key_without_the_scope_governance_is_refused(api: Api) -> None:
    proposal = api.propose()
    api.http.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {KEY}"
    path = f"{PROPOSALS}/{proposal['id']}"
    calls: list[tuple[str, str, Any]] = [
        ("POST", PROPOSALS, LOAD),
        ("GET", PROPOSALS, None),
        ("GET", path, None),
        ("POST", f"{path}/signatures", ALICE.body(proposal)),
        ("DELETE", path, None),
    ]
    for call in calls:
        assert api.error(*call)[:2] == (403, "governance_required")


def test_an_unknown_proposal_is_not_found(api: Api) -> None:
    body = {"signer": "alice", "signature": "AAAA"}
    for id in ("proposal_0", "proposal_" + "0" * 24, "..", "a%20b", "x" * 500):
        path = f"{PROPOSALS}/{id}"
        for method, where, sent in (
            ("GET", path, None),
            ("DELETE", path, None),
            ("POST", f"{path}/signatures", body),
        ):
            assert api.error(method, where, sent)[:2] == (404, "not_found")


# ---- signatures


def refused_signature(api: Api, proposal: Json, body: Any) -> tuple[str, str | None, str]:
    before = api.get(proposal)
    _, code, param, message = api.error("POST", f"{PROPOSALS}/{proposal['id']}/signatures", body)
    assert api.get(proposal) == before
    return code, param, message


def last_reason(api: Api) -> str:
    *_, record = api.services[AuditLog].records()
    assert (record.action, record.outcome) == ("sign_proposal", "refused")
    return str(record.detail["reason"])


def test_a_signature_for_another_proposal_is_refused(api: Api, platform: SimulatedPlatform) -> None:
    first, second = api.propose(), api.propose()
    replayed = ALICE.body(first)
    code, _, message = refused_signature(api, second, replayed)
    assert code == "signature_refused"
    assert "not one that alice made for this proposal" in message
    assert last_reason(api) == message
    api.sign(second, BOB)
    assert platform.model() == "unloaded"


def test_a_signature_of_a_revoked_signer_is_refused(api: Api, start_api: Callable[..., Api]) -> None:
    proposal = api.propose()
    later = start_api(signers=revoked(api.services[Settings].governance.signers, "alice"))
    code, param, message = refused_signature(later, proposal, ALICE.body(proposal))
    assert (code, param, message) == ("signature_refused", "signer", "the signer alice is revoked")
    assert last_reason(later) == message


def test_signatures_by_strangers_are_refused(api: Api) -> None:
    proposal = api.propose()
    as_alice = {**EVE.body(proposal), "signer": "alice"}
    refused = ((EVE.body(proposal), "there is no signer 'eve'"), (as_alice, "not one that alice made"))
    for body, reason in refused:
        code, _, message = refused_signature(api, proposal, body)
        assert (code, reason in message, last_reason(api)) == ("signature_refused", True, message)


def test_a_signer_cannot_sign_for_two(api: Api, start_api: Callable[..., Api]) -> None:
    again = KeyHolder("alice", "k2")
    keys = (*ALICE.configured().public_keys, *again.configured().public_keys)
    signers = api.services[Settings].governance.signers
    both = start_api(signers={**signers, "alice": type(signers["alice"])("alice", keys)})
    proposal = both.propose()
    assert both.sign(proposal, ALICE)["missing"] == 1
    code, _, message = refused_signature(both, proposal, again.body(proposal))
    assert (code, message) == ("already_signed", "alice has already signed this proposal")


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        ({"signer": None}, "invalid_request", "signer"),
        ({"signer": ""}, "invalid_request", "signer"),
        ({"signer": "alice\n"}, "invalid_request", "signer"),
        ({"signer": "a" * 65}, "invalid_request", "signer"),
        ({"signer": ["alice"]}, "invalid_request", "signer"),
        ({"signature": ""}, "invalid_request", "signature"),
        ({"signature": "A" * 89}, "invalid_request", "signature"),
        ({"signature": base64.b64encode(bytes(64)).decode()}, "signature_refused", "signature"),
        ({"signature": "AAAA"}, "signature_refused", "signature"),
        ({"kid": "no"}, "signature_refused", "kid"),
        ({"kid": "../k1"}, "invalid_request", "kid"),
        ({"threshold": 1}, "invalid_request", "threshold"),
    ],
    ids=str,
)
def test_a_hostile_signature_is_refused(api: Api, change: Any, code: str, param: str) -> None:
    proposal = api.propose()
    body = {**ALICE.body(proposal), **change}
    assert refused_signature(api, proposal, body)[:2] == (code, param)


@pytest.mark.parametrize(
    ("path", "body"), [(PROPOSALS, LOAD), ("/v1/models/load", {"modelId": "alpha", "propose": True})]
)
def test_a_proposal_is_one_attempt(start_api: Callable[..., Api], path: str, body: Any) -> None:
    api = start_api(max_attempts_per_minute=2)
    for _ in range(2):
        assert api.http.post(path, json=body).status_code == 202
    assert api.error("POST", path, body)[:2] == (429, "rate_limit_exceeded")


def test_attempts_at_proposals_are_limited(start_api: Callable[..., Api]) -> None:
    api = start_api(max_attempts_per_minute=3)
    proposal = api.propose()
    for _ in range(2):
        refused_signature(api, proposal, {"signer": "alice", "signature": "AAAA"})
    assert api.error("POST", PROPOSALS, LOAD)[:2] == (429, "rate_limit_exceeded")
    path = f"{PROPOSALS}/{proposal['id']}/signatures"
    assert api.error("POST", path, ALICE.body(proposal))[:2] == (429, "rate_limit_exceeded")


# ---- lists


def test_proposals_are_listed_a_page_at_a_time(api: Api) -> None:
    made = [api.propose()["id"] for _ in range(5)]
    api.http.delete(f"{PROPOSALS}/{made[1]}")
    first = api.http.get(f"{PROPOSALS}?limit=2&status=open").json
    assert [one["id"] for one in first["data"]] == [made[4], made[3]]
    rest = api.http.get(f"{PROPOSALS}?limit=2&status=open&cursor={first['next_cursor']}").json
    assert [one["id"] for one in rest["data"]] == [made[2], made[0]]
    withdrawn = api.http.get(f"{PROPOSALS}?status=withdrawn").json
    assert ([one["id"] for one in withdrawn["data"]], withdrawn["next_cursor"]) == ([made[1]], None)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("status=done", "status"),
        ("cursor=x", "cursor"),
        ("cursor=1-proposal_1", "cursor"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=-1", "limit"),
    ],
)
def test_a_wrong_query_is_refused(api: Api, query: str, param: str) -> None:
    assert api.error("GET", f"{PROPOSALS}?{query}")[:3] == (400, "invalid_request", param)


def test_a_rule_has_the_signers_that_are_shown(start_api: Callable[..., Api]) -> None:
    rules = {**GovernanceSettings().rules, "model-load": GovernanceRule("signed", 2)}
    assert SIGNED.signers == ("alice", "bob", "carol")
    api = start_api(rules=rules, signers=configured(ALICE, BOB, EVE))
    assert api.propose()["signers"] == ["alice", "bob", "eve"]
