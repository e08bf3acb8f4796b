"""In the mode `signed` each signer signs with a key of its own."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from config.settings import GovernanceRule, Signer, SignerKey
from governance.op_tokens.canonical_forms import rfc8785_form
from governance.op_tokens.signer_keys import public_key_of
from governance.op_tokens.verification import VerifiedOpToken
from tests.governance.op_tokens.tokens import (
    NOW,
    PRIVATE,
    SIGNED,
    SIGNERS,
    as_object,
    as_signed,
    check,
    payload,
    reason,
    signed_payload,
)


def test_a_token_with_enough_signatures_is_accepted() -> None:
    verified = check(as_signed(signed_payload(), "alice", "bob"), SIGNED)

    assert verified == VerifiedOpToken(None, ("alice", "bob"), verified.nonces, "signed")


@pytest.mark.rule("runner/op-token-signers")
def test_too_few_unknown_repeated_and_wrong_signatures_are_refused() -> None:
    fields = signed_payload()
    alice, bob, mallory = as_signed(fields, "alice", "bob", "mallory")["signatures"]

    def signed_by(*signatures: Mapping[str, str]) -> dict[str, Any]:
        return {"opToken": fields, "signatures": list(signatures)}

    assert reason(signed_by(alice), SIGNED) == "too_few_signers"
    assert reason(signed_by(alice, alice), SIGNED) == "repeated_signer"
    assert reason(signed_by(alice, bob, alice), SIGNED) == "repeated_signer"
    assert reason(signed_by(alice, alice | {"signer": "Alice"}), SIGNED) == "repeated_signer"
    assert reason(signed_by(alice, bob, mallory), SIGNED) == "unknown_signer"
    assert reason(signed_by(alice, mallory | {"signer": "bob"}), SIGNED) == "wrong_signature"
    assert reason(signed_by(alice, alice | {"signer": "bob"}), SIGNED) == "wrong_signature"
    flipped = bob["sig"][:-2] + ("A" if bob["sig"][-2] != "A" else "B") + bob["sig"][-1]
    assert reason(signed_by(alice, bob | {"sig": flipped}), SIGNED) == "wrong_signature"


def test_a_known_signer_that_the_rule_does_not_name_is_refused() -> None:
    rule = GovernanceRule("signed", 2, ("alice", "bob"))

    assert check(as_signed(signed_payload(), "bob", "alice"), rule)
    assert reason(as_signed(signed_payload(), "alice", "bob", "carol"), rule) == "unknown_signer"


def test_every_changed_field_refuses_the_signatures() -> None:
    token = as_signed(signed_payload(), "alice", "bob")

    for changes in ({"issuedAt": NOW + 1}, {"nonce": "b" * 16}, {"runnerId": "runner_1"}):
        assert reason(token | {"opToken": signed_payload(**changes)}, SIGNED) == "wrong_signature"
    other = token | {"opToken": signed_payload(modelId="other")}
    assert reason(other, SIGNED, model="other") == "wrong_signature"


def test_a_signer_may_have_keys_that_overlap_in_time() -> None:
    new = PRIVATE["mallory"]
    keys = (
        replace(SIGNERS["alice"].public_keys[0], not_after=NOW + 10),
        SignerKey("2027", public_key_of(new), not_before=NOW - 10),
    )
    signers = SIGNERS | {"alice": Signer("alice", keys)}
    by_old = as_signed(signed_payload(), "alice", "bob")
    by_new = as_signed(signed_payload(), "mallory", "bob")
    by_new["signatures"][0]["signer"] = "alice"

    assert check(by_old, SIGNED, signers=signers)
    assert check(by_new, SIGNED, signers=signers)
    assert reason(by_old, SIGNED, signers=signers, now=NOW + 10) == "wrong_signature"
    assert reason(by_new, SIGNED, signers=signers, now=NOW - 11) == "wrong_signature"
    by_old["signatures"][0]["kid"] = "2026"
    assert check(by_old, SIGNED, signers=signers)
    assert reason(by_old, SIGNED, signers=signers, now=NOW + 10) == "unknown_key"
    by_new["signatures"][0]["kid"] = "2026"
    assert reason(by_new, SIGNED, signers=signers) == "wrong_signature"


def test_a_signed_token_has_to_be_bound_to_the_body() -> None:
    fields = {name: value for name, value in signed_payload().items() if name != "bodyHash"}

    assert reason(as_signed(fields, "alice", "bob"), SIGNED) == "wrong_body"
    assert reason(as_signed(signed_payload(), "alice", "bob"), SIGNED, body={"modelId": "x"}) == "wrong_body"


def test_the_rule_decides_about_the_mode_and_not_the_token() -> None:
    signed = as_signed(signed_payload(), "alice", "bob")

    assert reason(as_object(payload()), SIGNED) == "wrong_mode"
    assert reason(signed) == "wrong_mode"
    assert reason(signed | {"signature": as_object(signed_payload())["signature"]}, SIGNED) == "malformed"
    listed = as_signed(signed_payload(signers=["alice", "bob"]), "alice", "bob")
    assert reason(listed, SIGNED) == "malformed"


def test_a_signature_of_another_purpose_is_none_for_a_token() -> None:
    fields = signed_payload()
    bare = PRIVATE["alice"].sign(rfc8785_form(fields))
    proposal = PRIVATE["alice"].sign(b"stoker-proposal-v1\n" + rfc8785_form(fields))
    for signature in (bare, proposal):
        one = {"signer": "alice", "sig": base64.b64encode(signature).decode()}
        rest = as_signed(fields, "bob")["signatures"]
        assert reason({"opToken": fields, "signatures": [one, *rest]}, SIGNED) == "wrong_signature"
