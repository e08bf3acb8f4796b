"""People who signed in propose, sign and withdraw: the proposal, the audit and the operation name them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.access.person import Person, digest_of_rules
from api.access.session_request import COOKIE
from api.access.session_store import SessionStore
from config.settings import OidcSettings, Settings
from governance.audit import AuditLog
from tests.api.access.test_sessions import OWN_PAGE
from tests.api.approvals.proposals.conftest import ALICE, BOB, PROPOSALS, Api, Json
from tests.support.simulated_platform import SimulatedPlatform

ISSUER = "https://login.example.com"
ANN = Person(ISSUER, "id-of-ann", "Ann Approver", "ann@example.com", ("approver",), "one")


@pytest.fixture
def approver(settings: Settings, platform: SimulatedPlatform) -> Api:
    """An API process whose client has the session of a person; no provider is asked."""
    assert platform.incarnations
    oidc = OidcSettings(issuer=ISSUER, client_id="stoker", default_role="viewer")
    person = replace(ANN, rules=digest_of_rules(oidc))
    api = Api(replace(settings, oidc=oidc))
    del api.http.environ_base["HTTP_AUTHORIZATION"]
    for name, value in OWN_PAGE.items():
        api.http.environ_base[f"HTTP_{name.upper().replace('-', '_')}"] = value
    token = api.services[SessionStore].begin_of_person(person, 3600, as_admin=True)
    api.http.set_cookie(COOKIE, token, path="/v1")
    return api


def recorded(api: Api, action: str) -> list[tuple[str, str, str, Json]]:
    """Actor, authority, outcome and detail of the records of an action."""
    api.services[AuditLog].sync()
    records = [record for record in api.services[AuditLog].records() if record.action == action]
    return [(record.actor, record.authority, record.outcome, dict(record.detail)) for record in records]


def test_a_proposal_of_a_person_and_its_operation_name_the_person(
    approver: Api, platform: SimulatedPlatform
) -> None:
    proposal = approver.propose()
    assert proposal["proposer"] == {
        "actor": "ann@example.com",
        "person": ANN.record("one"),
        "tenant": "one",
        "key": None,
    }
    started = approver.sign(proposal, ALICE, BOB)
    assert started["status"] == "started"
    operation = platform.fleet.operation(started["operation_id"])
    assert operation is not None
    assert operation.authority is not None
    assert (operation.authority["actor"], operation.authority["signers"]) == (
        "ann@example.com",
        ["alice", "bob"],
    )
    assert operation.authority["person"] == ANN.record("one")
    for action, authority in [
        ("propose", "person"),
        ("sign_proposal", "person"),
        ("approve_proposal", "person"),
        ("start_proposal", "proposal"),
        ("load", "proposal"),
    ]:
        for actor, found, outcome, detail in recorded(approver, action):
            assert (actor, found, detail["person"]) == ("ann@example.com", authority, ANN.record("one")), (
                action
            )
            assert outcome in ("done", "begun")
    assert len(recorded(approver, "sign_proposal")) == 2
    assert recorded(approver, "load")


def test_a_refused_and_a_withdrawn_proposal_name_the_person(approver: Api) -> None:
    proposal = approver.propose()
    path = f"{PROPOSALS}/{proposal['id']}"
    forged = {**ALICE.body(proposal), "signer": "bob"}
    assert approver.error("POST", f"{path}/signatures", forged)[:2] == (403, "signature_refused")
    unknown = {"operation": "model-load", "body": {"modelId": "unknown"}}
    assert approver.error("POST", PROPOSALS, unknown)[:2] == (404, "unknown_model")
    withdrawn = approver.http.delete(path).json
    assert (withdrawn["status"], withdrawn["reason"]) == ("withdrawn", "withdrawn by ann@example.com")
    for action, outcome in [
        ("sign_proposal", "refused"),
        ("propose", "refused"),
        ("withdraw_proposal", "done"),
    ]:
        actor, authority, found, detail = recorded(approver, action)[-1]
        assert (actor, authority, found) == ("ann@example.com", "person", outcome)
        assert detail["person"] == ANN.record("one")
