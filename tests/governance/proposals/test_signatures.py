"""A signature counts for one proposal, by a known signer of the rule, with a key that is valid."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from config.settings import GovernanceRule, Signer
from governance.proposals.errors import SignatureRefused
from governance.proposals.payload import PREFIX, payload_of
from governance.proposals.proposal import Proposal, Signature
from governance.proposals.signatures import signers_of, still_valid, verify
from governance.proposals.store import ProposalStore
from tests.governance.proposals.samples import BY, NEW, new
from tests.support.signers import KeyHolder, configured, revoked

ALICE, BOB, EVE = KeyHolder("alice"), KeyHolder("bob"), KeyHolder("eve")
RULE = GovernanceRule("signed", 2, ("alice", "bob"))
SIGNERS = configured(ALICE, BOB, EVE)
NOW = 1_700_000_000.0


@pytest.fixture
def proposal(store: ProposalStore) -> Proposal:
    return store.create(NEW)


def check(
    proposal: Proposal,
    signer: str,
    value: str,
    *,
    kid: str | None = None,
    signers: Any = SIGNERS,
    now: float = NOW,
) -> Signature:
    return verify(proposal, signer, kid, value, rule=RULE, signers=signers, now=now)


def refusal(*arguments: Any, **keywords: Any) -> str:
    with pytest.raises(SignatureRefused) as refused:
        check(*arguments, **keywords)
    assert refused.value.code == "signature_refused"
    return refused.value.message


def test_a_signature_over_the_payload_counts(proposal: Proposal) -> None:
    value = ALICE.sign(proposal.payload)
    for kid in (None, "k1"):
        assert check(proposal, "alice", value, kid=kid) == Signature("alice", "k1", value, NOW)


@pytest.mark.parametrize("form", ["url-safe", "without padding"])
def test_a_signature_is_read_in_the_forms_of_base64_and_kept_in_one(proposal: Proposal, form: str) -> None:
    value = ALICE.sign(proposal.payload)
    other = base64.urlsafe_b64encode(base64.b64decode(value)).decode()
    assert check(proposal, "alice", other if form == "url-safe" else other.rstrip("=")).value == value


def test_the_payload_is_the_documented_text(proposal: Proposal) -> None:
    proposal = replace(proposal, id="proposal_1", expires_at=1_800_000_000)
    assert proposal.payload == (
        PREFIX
        + b'{"body":"'
        + proposal.body_digest.encode()
        + b'","expiresAt":1800000000,"operation":"model-load","plan":"'
        + NEW.plan_digest.encode()
        + b'","proposal":"proposal_1","runner":"runner-1"}'
    )
    # printf '{"evictModel":"bêta","modelId":"alpha"}' | sha256sum
    assert proposal.body_digest == "c7ffce58e78b32376ceab520f3b9733cd011f96b1b54c0e3a78bedc2b494466d"


def test_a_signature_covers_the_body_that_was_shown(proposal: Proposal) -> None:
    shown = {
        "operation": proposal.operation,
        "id": proposal.id,
        "body": proposal.body,
        "plan_digest": proposal.plan_digest,
        "runner_id": proposal.runner,
        "expires_at": proposal.expires_at,
    }
    assert payload_of(shown) == proposal.payload
    other = {**shown, "body": {"modelId": "other"}, "body_digest": proposal.body_digest}
    assert payload_of(other) != proposal.payload


@pytest.mark.parametrize(
    "change",
    [
        {"id": "proposal_2"},
        {"operation": "model-unload"},
        {"body": {"modelId": "alpha"}},
        {"plan_digest": "cd" * 32},
        {"runner": "runner-2"},
        {"expires_at": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_signature_for_another_proposal_is_refused(proposal: Proposal, change: Mapping[str, Any]) -> None:
    value = ALICE.sign(replace(proposal, **change).payload)
    assert "not one that alice made for this proposal" in refusal(proposal, "alice", value)


def test_a_signature_of_the_canonical_form_without_the_prefix_is_refused(proposal: Proposal) -> None:
    value = ALICE.sign(proposal.payload.removeprefix(PREFIX))
    assert "not one that alice made" in refusal(proposal, "alice", value)


def test_a_signature_by_another_signer_is_refused(proposal: Proposal) -> None:
    assert "not one that alice made" in refusal(proposal, "alice", BOB.sign(proposal.payload))


def test_every_flipped_bit_of_a_signature_is_refused(proposal: Proposal) -> None:
    raw = base64.b64decode(ALICE.sign(proposal.payload))
    for at in range(len(raw) * 8):
        flipped = bytearray(raw)
        flipped[at // 8] ^= 1 << at % 8
        refusal(proposal, "alice", base64.b64encode(bytes(flipped)).decode())


@pytest.mark.parametrize(
    ("signer", "message"),
    [
        ("mallory", "there is no signer 'mallory'"),
        ("Alice", "there is no signer 'Alice'"),
        ("eve", "eve is not a signer of model-load: alice, bob"),
    ],
)
def test_a_signer_that_is_not_in_the_rule_is_refused(proposal: Proposal, signer: str, message: str) -> None:
    holder = EVE if signer == "eve" else ALICE
    assert refusal(proposal, signer, holder.sign(proposal.payload)) == message


def test_a_rule_without_names_takes_every_known_signer(proposal: Proposal) -> None:
    rule = GovernanceRule("signed", 2)
    value = EVE.sign(proposal.payload)
    assert verify(proposal, "eve", None, value, rule=rule, signers=SIGNERS, now=NOW).signer == "eve"
    assert signers_of(rule, SIGNERS) == ("alice", "bob", "eve")
    assert signers_of(RULE, revoked(SIGNERS, "bob")) == ("alice",)


def test_a_revoked_signer_is_refused(proposal: Proposal) -> None:
    value = ALICE.sign(proposal.payload)
    assert (
        refusal(proposal, "alice", value, signers=revoked(SIGNERS, "alice")) == "the signer alice is revoked"
    )


@pytest.mark.parametrize(
    ("window", "valid"),
    [
        ({"not_before": NOW}, True),
        ({"not_before": NOW + 0.001}, False),
        ({"not_after": NOW + 0.001}, True),
        ({"not_after": NOW}, False),
    ],
)
def test_a_key_counts_from_its_beginning_to_its_end(
    proposal: Proposal, window: Mapping[str, float], valid: bool
) -> None:
    signers = {**SIGNERS, "alice": ALICE.configured(**window)}
    value = ALICE.sign(proposal.payload)
    if valid:
        assert check(proposal, "alice", value, signers=signers)
    else:
        assert refusal(proposal, "alice", value, signers=signers) == (
            "no key of alice is valid at this time: k1"
        )


def test_a_key_of_another_id_is_refused(proposal: Proposal) -> None:
    value = ALICE.sign(proposal.payload)
    assert refusal(proposal, "alice", value, kid="k2") == "the signer alice has no key 'k2'"


def test_each_of_several_keys_of_a_signer_counts(proposal: Proposal) -> None:
    later = KeyHolder("alice", "k2")
    keys = (*ALICE.configured().public_keys, *later.configured().public_keys)
    signers = {"alice": Signer("alice", keys)}
    for holder in (ALICE, later):
        value = holder.sign(proposal.payload)
        assert check(proposal, "alice", value, signers=signers).key == holder.kid
    assert "sign its `payload` with one of the keys k1" in refusal(
        proposal, "alice", later.sign(proposal.payload), kid="k1", signers=signers
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "has 0 bytes"),
        ("****", "is not base64"),
        ("A" * 85, "is not base64"),
        ("AAAA", "has 3 bytes"),
        ("A" * 88, "has 66 bytes"),
        ("é" * 88, "is not base64"),
        ("AAAA AAAA", "is not base64"),
    ],
)
def test_a_text_that_is_no_signature_is_refused(proposal: Proposal, value: str, message: str) -> None:
    assert message in refusal(proposal, "alice", value)


def signed(store: ProposalStore, *holders: KeyHolder, at: float = NOW) -> Proposal:
    made = store.create(new(threshold=len(holders)))
    for holder in holders:
        value = holder.sign(made.payload)
        store.sign(made.id, verify(made, holder.name, None, value, rule=RULE, signers=SIGNERS, now=at), BY)
    return store.get(made.id)


def test_stored_signatures_count_while_their_signers_may_sign(store: ProposalStore) -> None:
    made = signed(store, ALICE, BOB)
    assert still_valid(made, RULE, SIGNERS) == ("alice", "bob")
    assert still_valid(made, RULE, revoked(SIGNERS, "bob")) == ("alice",)
    assert still_valid(made, replace(RULE, signers=("bob",)), SIGNERS) == ("bob",)
    assert still_valid(made, RULE, {"bob": SIGNERS["bob"]}) == ("bob",)
    replaced = {**SIGNERS, "alice": KeyHolder("alice").configured()}
    assert still_valid(made, RULE, replaced) == ("bob",)


def test_a_signature_outlives_the_validity_of_its_key(store: ProposalStore) -> None:
    made = signed(store, ALICE, BOB)
    later = {**SIGNERS, "alice": ALICE.configured(not_after=NOW + 1)}
    earlier = {**SIGNERS, "alice": ALICE.configured(not_after=NOW)}
    assert still_valid(made, RULE, later) == ("alice", "bob")
    assert still_valid(made, RULE, earlier) == ("bob",)
