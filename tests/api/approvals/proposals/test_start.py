"""A proposal from its creation to the start of its operation, over HTTP and a real Redis."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.approvals.proposals.changes import proposed_change
from api.approvals.proposals.start import start_approved
from config.settings import ROOT, GovernanceRule, Settings
from fleet.errors import StateConflict
from fleet.fleet import Fleet
from governance.authorization import PROPOSAL, Authorization
from governance.proposals.payload import payload_of
from governance.proposals.proposal import ProposalStatus
from governance.proposals.signatures import verify
from governance.proposals.store import ProposalStore
from store.errors import StorageUnavailable
from tests.api.approvals.proposals.conftest import ALICE, BOB, CAROL, PROPOSALS, SIGNED, Api, Json
from tests.support.signers import KeyHolder, configured, revoked
from tests.support.simulated_platform import SimulatedPlatform

S = 1_000_000


def approve(api: Api, **body: Any) -> Json:
    """A proposal with enough signatures whose process ended before it started the operation."""
    proposal = api.propose(**body)
    api.sign(proposal, ALICE)
    found = api.services[ProposalStore].get(proposal["id"])
    rule, signers = SIGNED, api.services[Settings].governance.signers
    signature = verify(
        found, "bob", None, BOB.sign(found.payload), rule=rule, signers=signers, now=found.created_at
    )
    record = {"actor": "boss", "authority": "governance key"}
    assert (
        api.services[ProposalStore].sign(proposal["id"], signature, record).status is ProposalStatus.APPROVED
    )
    return proposal


def test_a_proposal_shows_what_will_be_done(api: Api) -> None:
    proposal = api.propose("model-load", modelId="alpha", evictModel="beta")
    assert proposal["object"] == "proposal"
    assert proposal["body"] == {"modelId": "alpha", "evictModel": "beta"}
    assert (proposal["status"], proposal["threshold"], proposal["missing"]) == ("open", 2, 2)
    assert proposal["signers"] == ["alice", "bob", "carol"]
    assert proposal["proposer"]["tenant"] == "boss"
    assert proposal["runner_id"] == api.services[Fleet].runner_id()
    plan = proposal["plan"]
    assert (plan["modelId"], plan["begins"], plan["digest"]) == ("alpha", True, proposal["plan_digest"])
    assert set(plan["covers"]) >= {"the definition of alpha", "the state of alpha", "the state of beta"}
    assert proposal["payload"].encode() == payload_of(proposal)
    assert api.get(proposal) == proposal


def test_the_answers_are_the_documented_ones(api: Api) -> None:
    document = api.http.get("/openapi.json").json
    documented = document["components"]["schemas"]["ProposalObject"]["properties"]
    proposal = api.propose()
    api.sign(proposal, ALICE)
    assert set(api.get(proposal)) == set(documented)
    page = api.http.get(PROPOSALS).json
    (one,) = page["data"]
    assert set(one) == set(documented)
    assert set(page) == set(document["components"]["schemas"]["ProposalList"]["properties"])
    assert page["waiting"] == 1
    for path in ("/v1/models/load", "/v1/models/unload", "/v1/cache/flush"):
        answer = document["paths"][path]["post"]["responses"]["202"]["content"]["application/json"]["schema"]
        assert {"$ref": "#/components/schemas/ProposalObject"} in answer["anyOf"]


def test_two_of_three_signers_load_a_model(api: Api, platform: SimulatedPlatform) -> None:
    proposal = api.propose()
    first = api.sign(proposal, CAROL)
    assert (first["status"], first["missing"], platform.model()) == ("open", 1, "unloaded")
    second = api.sign(proposal, ALICE)
    assert (second["status"], second["missing"], platform.model()) == ("started", 0, "loading")
    operation = platform.fleet.operation(second["operation_id"])
    assert operation is not None
    assert operation.authority == {
        "actor": "boss",
        "authority": "proposal",
        "signers": ["carol", "alice"],
        "proposal": proposal["id"],
    }
    assert api.actions() == [
        ("boss", "governance key", "propose", "done"),
        ("boss", "governance key", "sign_proposal", "done"),
        ("boss", "governance key", "sign_proposal", "done"),
        ("boss", "governance key", "approve_proposal", "done"),
        ("boss", "proposal", "start_proposal", "done"),
        ("boss", "proposal", "load", "begun"),
    ]


def test_an_unload_is_proposed_on_its_own_route(api: Api, platform: SimulatedPlatform) -> None:
    platform.load()
    answer = api.http.post("/v1/models/unload", json={"modelId": "alpha", "propose": True})
    assert (answer.status_code, answer.json["operation"]) == (202, "model-unload")
    assert answer.headers["Location"] == f"{PROPOSALS}/{answer.json['id']}"
    assert answer.json["body"] == {"modelId": "alpha"}
    assert api.sign(answer.json, ALICE, BOB)["status"] == "started"
    assert platform.model() == "unloading"


def test_a_signature_that_comes_late_or_again_is_answered(api: Api) -> None:
    proposal = api.propose()
    assert api.sign(proposal, ALICE) == api.sign(proposal, ALICE)
    started = api.sign(proposal, BOB)
    assert api.sign(proposal, BOB) == started
    path = f"{PROPOSALS}/{proposal['id']}/signatures"
    status, code, _, message = api.error("POST", path, CAROL.body(proposal))
    assert (status, code) == (409, "proposal_ended")
    assert "is started" in message


def test_a_withdrawn_proposal_is_not_started(api: Api, platform: SimulatedPlatform) -> None:
    proposal = api.propose()
    api.sign(proposal, ALICE)
    for _ in range(2):
        withdrawn = api.http.delete(f"{PROPOSALS}/{proposal['id']}")
        assert (withdrawn.status_code, withdrawn.json["status"]) == (200, "withdrawn")
        assert withdrawn.json["reason"] == "withdrawn by boss"
    path = f"{PROPOSALS}/{proposal['id']}/signatures"
    assert api.error("POST", path, BOB.body(proposal))[:2] == (409, "proposal_ended")
    assert platform.model() == "unloaded"


# ---- the start, if the process of the last signature ends, and with many processes


def test_any_process_starts_an_approved_proposal(
    api: Api, start_api: Callable[..., Api], platform: SimulatedPlatform
) -> None:
    proposal = approve(api)
    assert platform.model() == "unloaded"
    start_approved(start_api().services)
    assert (api.get(proposal)["status"], platform.model()) == ("started", "loading")


def test_16_processes_start_a_proposal_once(
    start_api: Callable[..., Api], platform: SimulatedPlatform
) -> None:
    processes = [start_api() for _ in range(16)]
    for round in range(10):
        body = {"operation": "model-load" if round % 2 == 0 else "model-unload", "modelId": "alpha"}
        proposal = approve(processes[0], **body)
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda process: start_approved(process.services), processes))
        started = processes[0].get(proposal)
        assert (started["status"], started["reason"]) == ("started", None)
        for replica in platform.fleet.row("alpha").replicas and platform.client.smembers(
            f"{platform.prefix}replicas:alpha"
        ):
            name = replica.decode()
            if round % 2 == 0:
                platform.starting(name)
                platform.up(name)
            else:
                platform.stopped(name)
    begun = [action for action in processes[0].actions() if action[3] == "begun"]
    assert len(begun) == 10
    starts = [action for action in processes[0].actions() if action[2] == "start_proposal"]
    assert len(starts) == 10


def test_a_proposal_waits_for_its_start_while_redis_is_unreachable(
    api: Api, platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = approve(api)

    def unreachable(*_: object) -> None:
        raise StorageUnavailable("the shared store (Redis) cannot be reached")

    with monkeypatch.context() as patch:
        patch.setattr(api.services[Fleet], "runner_id", unreachable)
        start_approved(api.services)
    assert (api.get(proposal)["status"], platform.model()) == ("approved", "unloaded")
    start_approved(api.services)
    assert api.get(proposal)["status"] == "started"


def test_a_proposal_waits_for_its_start_while_its_model_cools_down(
    start_api: Callable[..., Api], platform: SimulatedPlatform
) -> None:
    api = start_api(cooldown_s=60.0)
    for round in range(2):
        proposal = api.sign(api.propose(), ALICE, BOB)
        assert proposal["status"] == ("started" if round == 0 else "approved")
        if round == 0:
            platform.finish_unload(platform.fleet.unload("alpha"))
    for scripts in (api.services[ProposalStore].scripts, api.services[Fleet].scripts):
        scripts.offset_us = 300 * S
    start_approved(api.services)
    assert api.get(proposal)["status"] == "started"


def test_an_approved_proposal_is_not_started_after_its_end(api: Api, platform: SimulatedPlatform) -> None:
    proposal = approve(api)
    for scripts in (api.services[ProposalStore].scripts, api.services[Fleet].scripts):
        scripts.offset_us = 86_401 * S
    start_approved(api.services)
    expired = api.get(proposal)
    assert (expired["status"], platform.model()) == ("expired", "unloaded")
    assert "was not started in time" in expired["reason"]


# ---- what was approved does not hold any more


def outdated(api: Api, proposal: Json) -> str:
    """The reason why the last signature does not start a proposal; nothing was done."""
    answer = api.sign(proposal, BOB)
    assert (answer["status"], answer["operation_id"]) == ("outdated", None)
    assert answer["reason"].endswith("; propose it again")
    assert "begun" not in {outcome for _, authority, _, outcome in api.actions() if authority == "proposal"}
    return str(answer["reason"])


def test_a_load_is_outdated_when_the_model_was_loaded_meanwhile(
    api: Api, platform: SimulatedPlatform
) -> None:
    proposal = api.propose()
    api.sign(proposal, ALICE)
    platform.load()
    assert "the state of alpha changed" in outdated(api, proposal)


def test_a_load_is_outdated_when_the_model_to_evict_was_loaded_meanwhile(
    api: Api, platform: SimulatedPlatform
) -> None:
    proposal = api.propose("model-load", modelId="alpha", evictModel="beta")
    api.sign(proposal, ALICE)
    platform.load("beta")
    assert "the state of beta changed" in outdated(api, proposal)


def test_a_load_is_outdated_when_the_configuration_changed(api: Api, settings: Settings) -> None:
    proposal = api.propose()
    api.sign(proposal, ALICE)
    models = {**settings.models, "alpha": replace(settings.models["alpha"], target_inflight=3)}
    assert "the definition of alpha changed" in outdated(Api(replace(settings, models=models)), proposal)


def test_a_load_is_outdated_when_the_model_is_not_configured_any_more(api: Api, settings: Settings) -> None:
    proposal = api.propose()
    api.sign(proposal, ALICE)
    models = {"beta": settings.models["beta"]}
    assert "unknown_model" in outdated(Api(replace(settings, models=models)), proposal)


def test_a_load_is_outdated_when_no_worker_can_take_it(api: Api, platform: SimulatedPlatform) -> None:
    proposal = api.propose()
    api.sign(proposal, ALICE)
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "it ended")
    assert "it cannot be done now (no_worker)" in outdated(api, proposal)


def test_a_load_is_refused_when_its_file_is_exchanged_between_the_plan_and_the_begin(
    settings: Settings, platform: SimulatedPlatform, tmp_path: Path
) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes((ROOT / "models/stoker-demo.gguf").read_bytes())
    allowed = replace(settings.governance, models="allow", allow={"llama_cpp": ("*",)})
    api = Api(replace(settings, model_base_path=tmp_path, governance=allowed))
    change = proposed_change("model-load", {"modelId": file.name})
    planned = change.plan(api.services)
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(StateConflict, match="changed a moment ago"):
        change.start(api.services, Authorization("boss", PROPOSAL), planned)
    change.start(api.services, Authorization("boss", PROPOSAL), change.plan(api.services))
    assert api.services[Fleet].row(file.name).state == "loading"
    assert platform.incarnations


@pytest.mark.parametrize(
    ("governance", "reason"),
    [
        ({"signers": revoked(configured(ALICE, BOB, CAROL), "alice")}, "1 of its signatures are valid"),
        (
            {"signers": {**configured(BOB, CAROL), "alice": KeyHolder("alice").configured()}},
            "alice may no longer sign",
        ),
        (
            {"rules": {"model-load": replace(SIGNED, threshold=3)}},
            "2 of its signatures are valid, but 3 are needed",
        ),
        (
            {"rules": {"model-load": GovernanceRule("signed", 2, ("bob", "carol"))}},
            "alice may no longer sign",
        ),
    ],
    ids=["a signer was revoked", "a key was replaced", "the threshold grew", "a signer left the rule"],
)
def test_a_proposal_is_outdated_when_its_signatures_do_not_suffice_any_more(
    api: Api, start_api: Callable[..., Api], governance: Json, reason: str
) -> None:
    proposal = api.propose()
    api.sign(proposal, ALICE)
    assert reason in outdated(start_api(**governance), proposal)


def test_a_proposal_is_outdated_when_its_rule_became_attested(
    api: Api, start_api: Callable[..., Api]
) -> None:
    proposal = approve(api)
    start_approved(start_api(rules={"model-load": GovernanceRule()}).services)
    found = api.get(proposal)
    assert found["status"] == "outdated"
    assert "its rule has the mode `attested`" in found["reason"]


def test_a_proposal_is_outdated_on_another_platform(api: Api, settings: Settings) -> None:
    proposal = approve(api)
    start_approved(Api(replace(settings, runner_id="other")).services)
    assert "the platform's id changed" in api.get(proposal)["reason"]


def test_a_load_of_a_loaded_model_is_started_without_an_operation(
    api: Api, platform: SimulatedPlatform
) -> None:
    platform.load()
    proposal = api.propose()
    assert proposal["plan"]["begins"] is False
    started = api.sign(proposal, ALICE, BOB)
    assert (started["status"], started["operation_id"]) == ("started", None)
