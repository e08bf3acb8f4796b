"""With `governance.admin: governed`, administrators propose what they change otherwise."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from api.access.access_store import AccessStore
from config.api_keys import digest_of
from config.settings import GovernanceRule
from governance.proposals.store import ProposalStore
from tests.api.approvals.proposals.conftest import ALICE, BOB, GOVERNANCE, Api
from tests.support.simulated_platform import SimulatedPlatform

TENANTS, KEYS = "/v1/admin/tenants", "/v1/admin/keys"
SECRET = "sk-stoker-a-key-of-this-test"

CHANGES: list[tuple[str, str, Any]] = [
    ("POST", "/v1/admin/models/alpha/load", {"evictModel": "beta"}),
    ("POST", "/v1/admin/models/alpha/unload", None),
    ("POST", "/v1/admin/cache/flush", {"scope": "tag", "tenant": "one", "tag": "it's"}),
    ("POST", TENANTS, {"name": "acme", "weight": 2}),
    ("PATCH", f"{TENANTS}/one", {"max_running": 3}),
    ("DELETE", f"{TENANTS}/one", None),
    ("POST", KEYS, {"tenant": "one"}),
    ("PATCH", f"{KEYS}/key_1", {"label": "it's mine"}),
    ("DELETE", f"{KEYS}/key_1", None),
]


@pytest.fixture
def governed(start_api: Callable[..., Api], platform: SimulatedPlatform) -> Api:
    assert platform.incarnations
    return start_api(admin="governed")


@pytest.mark.parametrize(("method", "path", "body"), CHANGES, ids=lambda part: str(part)[:40])
def test_a_change_through_the_admin_api_names_the_command_that_proposes_it(
    governed: Api, platform: SimulatedPlatform, method: str, path: str, body: Any
) -> None:
    status, code, _, message = governed.error(method, path, body)
    assert (status, code) == (403, "governance_required")
    command = re.search(r"propose it with `(.*)`", message)
    assert command
    actor, authority, action, outcome = governed.actions()[-1]
    assert (actor, authority, outcome) == ("boss", "admin key", "refused")
    assert platform.model() == "unloaded"
    assert governed.services[AccessStore].read().tenants == {}
    words = shlex.split(command[1])
    if words[0] == "stoker":
        assert command[1] == "stoker keys create one --propose"
        return
    _, text, pipe, *rest = words
    assert (pipe, rest[:3], rest[4:]) == ("|", ["stoker", "op", "propose"], ["-"])
    answer = governed.http.post(
        "/v1/governance/proposals", json={"operation": rest[3], "body": orjson.loads(text)}
    )
    # the tenant and the key are not there, the rest can be proposed
    assert answer.status_code in (202, 404, 409), answer.json
    assert action in ("load", "unload", "flush") or orjson.loads(text)["change"] == action


def test_the_plan_of_a_load_has_the_refusal_where_it_needs_a_proposal(governed: Api) -> None:
    recorded = governed.actions()
    plan = governed.http.post("/v1/admin/models/alpha/load/plan", json={"evictModel": "beta"}).json
    assert governed.actions() == recorded, "a plan is no attempt"
    refused = governed.error("POST", "/v1/admin/models/alpha/load", {"evictModel": "beta"})
    assert not plan["begins"]
    assert plan["problem"] == {"code": refused[1], "message": refused[3], "param": None}
    assert plan["workers"], "the rest is planned as anywhere"


def test_a_change_whose_rule_is_attested_names_the_way_by_an_op_token(start_api: Callable[..., Api]) -> None:
    attested = dict.fromkeys(("model-load", "model-unload", "cache-flush"), GovernanceRule())
    api = start_api(admin="governed", rules={**GOVERNANCE.rules, **attested})
    status, code, _, message = api.error("POST", "/v1/admin/models/alpha/load", {})
    assert (status, code) == (403, "governance_required")
    assert message.endswith(
        "requires an opToken: send `POST /v1/models/load` with one; `stoker op sign model-load` creates it"
    )
    assert "propose it with" in api.error("DELETE", f"{TENANTS}/one", None)[3]


def test_a_cancelled_load_needs_no_proposal(governed: Api, platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha")
    assert outcome.operation
    answer = governed.http.delete(f"/v1/admin/operations/{outcome.operation.id}")
    assert (answer.status_code, answer.json["runtime_state"]) in ((200, "unloaded"), (202, "unloading"))


def test_a_signed_proposal_changes_what_the_admin_api_does_not(
    governed: Api, platform: SimulatedPlatform
) -> None:
    assert governed.sign(governed.propose(), ALICE, BOB)["status"] == "started"
    assert platform.model() == "loading"


def propose(api: Api, **body: Any) -> Any:
    return api.propose("access-change", **body)


def test_a_tenant_is_added_changed_and_removed_by_proposals(governed: Api) -> None:
    added = propose(
        governed, change="add_tenant", name="acme", values={"weight": 2, "rate_limit": "5req/min"}
    )
    assert added["plan"]["subject"] == "acme"
    assert governed.sign(added, ALICE, BOB)["status"] == "started"
    row = governed.http.get(f"{TENANTS}/acme").json
    assert (row["weight"], row["rate_limit"]) == (2, "5/min")
    changed = propose(governed, change="set_tenant", name="acme", values={"weight": None, "max_running": 1})
    assert governed.sign(changed, ALICE, BOB)["status"] == "started"
    row = governed.http.get(f"{TENANTS}/acme").json
    assert (row["weight"], row["max_running"]) == (1, 1)
    assert (
        governed.sign(propose(governed, change="remove_tenant", name="acme"), ALICE, BOB)["status"]
        == "started"
    )
    assert governed.http.get(f"{TENANTS}/acme").status_code == 404
    done = [action for action in governed.actions() if action[1] == "proposal"]
    assert [action[2] for action in done] == [
        *("start_proposal", "add_tenant"),
        *("start_proposal", "set_tenant"),
        *("start_proposal", "remove_tenant"),
    ]


def test_a_key_is_made_by_its_proposer_and_counts_when_it_is_signed(governed: Api) -> None:
    proposal = propose(
        governed,
        change="create_key",
        tenant="one",
        digest=digest_of(SECRET),
        hint=SECRET[-4:],
        values={"scopes": ["inference", "governance"], "label": "ci"},
    )
    assert SECRET not in str(proposal)
    request = {"headers": {"Authorization": f"Bearer {SECRET}"}}
    assert governed.http.get("/v1/models", **request).status_code == 401
    assert governed.sign(proposal, ALICE, BOB)["status"] == "started"
    assert governed.http.get("/v1/models", **request).status_code == 200
    assert governed.http.get("/v1/governance/proposals", **request).status_code == 200
    (key,) = governed.http.get(f"{KEYS}?tenant=one").json["data"][-1:]
    rows = [row for row in governed.http.get(KEYS).json["data"] if row["label"] == "ci"]
    assert [(row["id"], row["hint"]) for row in rows] == [(proposal["plan"]["subject"], SECRET[-4:])]
    assert key["tenant"] == "one"
    id = rows[0]["id"]
    changed = propose(governed, change="set_key", id=id, values={"models": ["alpha"]})
    assert governed.sign(changed, ALICE, BOB)["status"] == "started"
    assert governed.http.get(f"{KEYS}/{id}").json["models"] == ["alpha"]
    assert governed.sign(propose(governed, change="revoke_key", id=id), ALICE, BOB)["status"] == "started"
    assert governed.http.get("/v1/models", **request).status_code == 401


def test_a_key_is_not_proposed_twice(governed: Api) -> None:
    body = {"change": "create_key", "tenant": "one", "digest": digest_of(SECRET)}
    first, second = propose(governed, **body), propose(governed, **body)
    assert governed.sign(first, ALICE, BOB)["status"] == "started"
    outdated = governed.sign(second, ALICE, BOB)
    assert outdated["status"] == "outdated"
    assert "key_exists" in outdated["reason"]


def test_a_change_of_a_tenant_is_outdated_when_it_was_changed_meanwhile(
    governed: Api, start_api: Callable[..., Api]
) -> None:
    administrator = start_api()
    assert administrator.http.post(TENANTS, json={"name": "acme"}).status_code == 201
    proposal = propose(governed, change="set_tenant", name="acme", values={"weight": 3})
    governed.sign(proposal, ALICE)
    assert administrator.http.patch(f"{TENANTS}/acme", json={"weight": 2}).status_code == 200
    outdated = governed.sign(proposal, BOB)
    assert outdated["status"] == "outdated"
    assert "the tenant acme changed" in outdated["reason"]
    assert governed.http.get(f"{TENANTS}/acme").json["weight"] == 2


def test_the_removal_of_a_tenant_is_outdated_when_it_got_another_key(
    governed: Api, start_api: Callable[..., Api]
) -> None:
    administrator = start_api()
    assert administrator.http.post(TENANTS, json={"name": "acme"}).status_code == 201
    proposal = propose(governed, change="remove_tenant", name="acme")
    governed.sign(proposal, ALICE)
    key = administrator.http.post(KEYS, json={"tenant": "acme"}).json["id"]
    outdated = governed.sign(proposal, BOB)
    assert outdated["status"] == "outdated"
    assert f"the key {key} changed" in outdated["reason"]


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "invalid_request", "body.change"),
        ({"change": "drop_tables"}, "invalid_request", "body.change"),
        ({"change": ["add_tenant"]}, "invalid_request", "body.change"),
        ({"change": "add_tenant"}, "invalid_request", "body.name"),
        ({"change": "add_tenant", "name": "../x"}, "invalid_request", "body.name"),
        ({"change": "add_tenant", "name": "a", "admin": True}, "invalid_request", "body.admin"),
        (
            {"change": "add_tenant", "name": "a", "values": {"admin": True}},
            "invalid_request",
            "body.values.admin",
        ),
        ({"change": "add_tenant", "name": "one"}, "tenant_exists", "name"),
        ({"change": "set_tenant", "name": "no", "values": {"weight": 2}}, "not_found", "name"),
        (
            {"change": "set_tenant", "name": "fixed", "values": {"weight": 3}},
            "set_by_configuration",
            "weight",
        ),
        ({"change": "create_key", "tenant": "one"}, "invalid_request", "body.digest"),
        ({"change": "create_key", "tenant": "one", "digest": "AB" * 32}, "invalid_request", "body.digest"),
        ({"change": "create_key", "tenant": "one", "key": SECRET}, "invalid_request", "body.key"),
        ({"change": "create_key", "tenant": "no", "digest": "ab" * 32}, "not_found", "tenant"),
        ({"change": "revoke_key", "id": "key_1"}, "not_found", "id"),
    ],
    ids=str,
)
def test_a_change_that_cannot_be_made_is_not_proposed(
    governed: Api, body: Any, code: str, param: str
) -> None:
    refused = governed.error("POST", "/v1/governance/proposals", {"operation": "access-change", "body": body})
    assert refused[1:3] == (code, param)
    assert governed.services[ProposalStore].page(10).proposals == ()
