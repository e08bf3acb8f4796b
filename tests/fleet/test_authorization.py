"""An authorization is checked before anything is changed, and used up with the operation that it begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from fleet.errors import InsufficientMemory, NotAuthorized, StateConflict
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome, LoadRequest
from governance.authorization import ADMIN_KEY, OP_TOKEN, PLATFORM, PROPOSAL, Authorization, authorization_of
from governance.proposals.store import ProposalStore
from tests.fleet.races import run_concurrently
from tests.governance.proposals.samples import BY, NEW, new, signature
from tests.support.begin_load import begin_load
from tests.support.simulated_platform import SimulatedPlatform

TOKEN = Authorization("acme", OP_TOKEN, signers=("ann", "bob"), nonces=("d" * 64,))
OTHER = replace(TOKEN, nonces=("e" * 64,))
APPROVED = Authorization("acme", PROPOSAL, signers=("ann", "bob"), proposal="proposal_1")


def test_a_consequence_of_an_operation_has_its_authority_without_what_was_used_up() -> None:
    person = {"subject": "id-of-ann", "name": "Ann"}
    approved = replace(APPROVED, person=person)
    assert authorization_of(approved.record()) == replace(approved, proposal=None)
    assert authorization_of(None) == PLATFORM


def used_by(platform: SimulatedPlatform, token: Authorization = TOKEN) -> str | None:
    value = platform.client.get(f"{platform.prefix}op_nonce:{token.nonces[0]}")
    return None if value is None else value.decode()


@pytest.fixture
def proposals(platform: SimulatedPlatform) -> ProposalStore:
    prefix = platform.settings.redis.prefix
    return ProposalStore(platform.client, prefix, ttl_s=3600, history_s=3600)


def approve(proposals: ProposalStore) -> None:
    id = proposals.create(new(threshold=1), APPROVED.proposal).id
    proposals.sign(id, signature("ann"), BY)


def lose_a_replica(platform: SimulatedPlatform) -> None:
    """Alpha is loaded on w1 and w2, and the engine on w2 crashes."""
    platform.load(replicas=2)
    (lost,) = platform.ledger.heartbeat("w2", platform.incarnations["w2"]).replicas
    platform.crash(lost, "w2")


def operation_id(outcome: LoadOutcome) -> str:
    assert outcome.operation
    return outcome.operation.id


# ---- nonces


def test_a_nonce_is_used_by_the_load_that_it_begins_and_remembered_for_900_s(
    platform: SimulatedPlatform,
) -> None:
    outcome = platform.fleet.load("alpha", authorization=TOKEN)
    assert used_by(platform) == operation_id(outcome)
    left_ms = platform.client.pttl(f"{platform.prefix}op_nonce:{TOKEN.nonces[0]}")
    assert 890_000 < left_ms <= 900_000


BEGINS: list[Callable[[Fleet, Authorization], LoadOutcome]] = [
    lambda fleet, token: fleet.load("beta", authorization=token),
    lambda fleet, token: fleet.load("alpha", authorization=token),
    lambda fleet, token: fleet.unload("alpha", token),
    lambda fleet, token: fleet.unload("beta", token),
]


@pytest.mark.parametrize("begin", BEGINS, ids=["load", "load again", "unload", "nothing to unload"])
def test_a_used_nonce_changes_nothing(
    platform: SimulatedPlatform, begin: Callable[[Fleet, Authorization], LoadOutcome]
) -> None:
    first = platform.fleet.load("alpha", authorization=TOKEN)
    platform.finish_load(first)
    before = platform.client.hgetall(f"{platform.prefix}model:alpha")
    with pytest.raises(NotAuthorized) as refused:
        begin(platform.fleet, TOKEN)
    assert (refused.value.reason, refused.value.code) == ("nonce_used", "operation_not_authorized")
    assert (platform.model("alpha"), platform.model("beta")) == ("loaded", "unloaded")
    assert platform.client.hgetall(f"{platform.prefix}model:alpha") == before
    assert used_by(platform) == operation_id(first)


def test_a_restore_uses_the_nonce_up(platform: SimulatedPlatform) -> None:
    lose_a_replica(platform)
    outcome = platform.fleet.load("alpha", authorization=TOKEN)
    assert outcome.begun
    assert used_by(platform) == operation_id(outcome)


def test_a_restore_with_a_used_nonce_assigns_nothing(platform: SimulatedPlatform) -> None:
    platform.load("beta")
    platform.finish_unload(platform.fleet.unload("beta", TOKEN))
    lose_a_replica(platform)
    with pytest.raises(NotAuthorized):
        platform.fleet.load("alpha", authorization=TOKEN)
    assert len(platform.fleet.row("alpha").workers) == 1


def test_a_load_of_a_loaded_model_uses_the_nonce_up(platform: SimulatedPlatform) -> None:
    platform.load()
    assert not platform.fleet.load("alpha", authorization=TOKEN).begun
    assert used_by(platform)
    with pytest.raises(NotAuthorized):
        platform.fleet.load("alpha", authorization=TOKEN)


def test_an_unload_of_an_unloaded_model_uses_the_nonce_up(platform: SimulatedPlatform) -> None:
    platform.finish_unload(platform.fleet.unload(platform.load() and "alpha"))
    assert not platform.fleet.unload("alpha", TOKEN).begun
    assert used_by(platform)


def test_a_refused_load_uses_nothing_up(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": 1000})
    for worker in ("w1", "w2"):
        platform.report_memory(worker)
    with pytest.raises(InsufficientMemory):
        platform.fleet.load("alpha", authorization=TOKEN)
    assert used_by(platform) is None
    platform.fleet.unload(platform.load("beta") and "beta")
    with pytest.raises(StateConflict):
        platform.fleet.load("beta", authorization=TOKEN)
    assert used_by(platform) is None


@pytest.mark.parametrize("script", ["begin_load", "begin_unload", "use_authorization", "restore_replicas"])
def test_a_call_that_is_repeated_after_a_lost_reply_succeeds(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    run, calls = platform.fleet.scripts.run, []

    def twice(name: str, **arguments: Any) -> object:
        calls.append(name)
        if name == script:
            run(name, **arguments)
        return run(name, **arguments)

    if script == "begin_load":
        monkeypatch.setattr(platform.fleet.scripts, "run", twice)
        assert platform.fleet.load("alpha", authorization=TOKEN).begun
    elif script == "restore_replicas":
        lose_a_replica(platform)
        monkeypatch.setattr(platform.fleet.scripts, "run", twice)
        assert platform.fleet.load("alpha", authorization=TOKEN).begun
    else:
        platform.load()
        monkeypatch.setattr(platform.fleet.scripts, "run", twice)
        if script == "begin_unload":
            assert platform.fleet.unload("alpha", TOKEN).begun
        else:
            platform.fleet.load("alpha", authorization=TOKEN)
    assert script in calls
    assert used_by(platform)


def test_of_many_loads_with_one_token_one_begins(platform: SimulatedPlatform) -> None:
    def load() -> LoadOutcome:
        fleet = SimulatedPlatform(platform.client, platform.settings).fleet
        return fleet.load("alpha", authorization=TOKEN)

    accepted, refused = run_concurrently(*[load] * 8)
    assert len(accepted) == 1
    assert {type(problem) for problem in refused} == {NotAuthorized}
    assert used_by(platform) == operation_id(accepted[0])


def test_two_tokens_for_one_model_begin_one_load_that_both_get(platform: SimulatedPlatform) -> None:
    def load(token: Authorization) -> LoadOutcome:
        fleet = SimulatedPlatform(platform.client, platform.settings).fleet
        return fleet.load("alpha", authorization=token)

    accepted, refused = run_concurrently(lambda: load(TOKEN), lambda: load(OTHER))
    assert refused == []
    assert sorted(outcome.begun for outcome in accepted) == [False, True]
    assert len({operation_id(outcome) for outcome in accepted}) == 1
    assert used_by(platform)
    assert used_by(platform, OTHER)


def test_an_eviction_needs_no_nonce_of_its_own(platform: SimulatedPlatform) -> None:
    platform.load("beta")
    outcome = platform.fleet.load("alpha", LoadRequest(evict="beta"), TOKEN)
    assert outcome.eviction
    assert used_by(platform) == operation_id(outcome)
    unload = platform.fleet.operation(operation_id(outcome.eviction))
    assert unload
    assert unload.authority == {"actor": "acme", "authority": "op token", "signers": ["ann", "bob"]}


# ---- proposals


def test_a_proposal_that_is_not_approved_begins_nothing(
    platform: SimulatedPlatform, proposals: ProposalStore
) -> None:
    def refusal() -> str:
        with pytest.raises(NotAuthorized) as refused:
            platform.fleet.load("alpha", authorization=APPROVED)
        return refused.value.reason

    assert refusal() == "proposal_unknown"
    made = proposals.create(NEW, APPROVED.proposal)
    assert refusal() == "proposal_open"
    proposals.withdraw(made.id, "a mistake", BY)
    assert refusal() == "proposal_withdrawn"
    assert platform.model("alpha") == "unloaded"


def test_an_approved_proposal_begins_nothing_after_its_end(
    platform: SimulatedPlatform, proposals: ProposalStore
) -> None:
    approve(proposals)
    platform.ledger.scripts.offset_us = 3601 * 1_000_000
    platform.fleet.scripts.offset_us = 3601 * 1_000_000
    with pytest.raises(NotAuthorized):
        platform.fleet.load("alpha", authorization=APPROVED)


def test_an_approved_proposal_starts_once(platform: SimulatedPlatform, proposals: ProposalStore) -> None:
    approve(proposals)
    outcome = platform.fleet.load("alpha", authorization=APPROVED)
    started = proposals.get("proposal_1")
    assert (started.status, started.operation_id) == ("started", operation_id(outcome))
    assert proposals.expire() == []
    with pytest.raises(NotAuthorized) as refused:
        platform.fleet.load("alpha", authorization=APPROVED)
    assert refused.value.reason == "proposal_started"


def test_16_processes_start_an_approved_proposal_once(
    platform: SimulatedPlatform, proposals: ProposalStore
) -> None:
    approve(proposals)
    calls = [partial(platform.fleet.load, "alpha", authorization=APPROVED)] * 16
    begun, refused = run_concurrently(*calls)
    assert [outcome.begun for outcome in begun] == [True]
    assert {error.reason for error in refused if isinstance(error, NotAuthorized)} == {"proposal_started"}
    assert len(refused) == 15


def test_an_approved_proposal_is_started_when_the_model_is_loaded_already(
    platform: SimulatedPlatform, proposals: ProposalStore
) -> None:
    platform.load()
    approve(proposals)
    platform.fleet.load("alpha", authorization=APPROVED)
    started = proposals.get("proposal_1")
    assert (started.status, started.operation_id) == ("started", None)


# ---- the operation's record


def test_an_operation_has_the_authority_that_it_was_begun_with(platform: SimulatedPlatform) -> None:
    def authority(outcome: LoadOutcome) -> object:
        operation = platform.fleet.operation(operation_id(outcome))
        assert operation
        return operation.authority

    outcome = platform.fleet.load("alpha", authorization=Authorization("root", ADMIN_KEY))
    assert authority(outcome) == {"actor": "root", "authority": "admin key"}
    platform.finish_load(outcome)
    assert authority(platform.fleet.unload("alpha")) == PLATFORM.record()


def test_an_eviction_that_recovery_begins_has_the_authority_of_the_load(platform: SimulatedPlatform) -> None:
    platform.load("beta")
    begin_load(
        platform.fleet,
        "alpha",
        "load_left",
        evicts="beta",
        evict_us=60_000_000,
        authorization=TOKEN.argument(),
    )
    (eviction,) = platform.recovery.resume_pending()
    unload = platform.fleet.operation(operation_id(eviction))
    assert unload
    assert unload.authority == TOKEN.for_consequence().record()
