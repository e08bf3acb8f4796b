"""The section `governance`: rules, signers and their keys."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from config.settings import GovernanceRule, Signer, SignerKey

KEYS = [base64.b64encode(bytes(range(start, start + 32))).decode() for start in range(10)]


def signer(index: int = 0, **more):
    return {"public_keys": [{"id": "k", "key": KEYS[index]}], **more}


THREE = {"alice": signer(0), "bob": signer(1), "carol": signer(2)}


def test_rules_and_signers_are_read(load):
    governance = load(
        {
            "governance": {
                "model-load": {"mode": "signed", "threshold": 2, "signers": ["alice", "bob"]},
                "cache-flush": {"signers": ["gateway"]},
                "allow": {"llama_cpp": ["org/*"]},
                "signers": {**THREE, "dave": signer(3, revoked=True)},
            }
        }
    ).governance

    assert governance.rules == {
        "model-load": GovernanceRule("signed", 2, ("alice", "bob")),
        "model-unload": GovernanceRule("attested", 1, ()),
        "cache-flush": GovernanceRule("attested", 1, ("gateway",)),
        "model-add": GovernanceRule("signed", 1, ()),
        "model-remove": GovernanceRule("signed", 1, ()),
        "access-change": GovernanceRule("signed", 1, ()),
    }
    assert governance.signers["alice"] == Signer("alice", (SignerKey("k", KEYS[0]),))
    assert governance.signers["dave"].revoked
    assert governance.allow == {"llama_cpp": ("org/*",)}


def test_the_validity_of_a_key_is_read_as_utc(load):
    key = {"id": "k", "key": KEYS[0], "not_before": "2026-11-01", "not_after": "2027-01-31T12:00:00+02:00"}
    settings = load({"governance": {"signers": {"alice": {"public_keys": [key]}}}})

    (read,) = settings.governance.signers["alice"].public_keys
    assert read.not_before == datetime(2026, 11, 1, tzinfo=UTC).timestamp()
    assert read.not_after == datetime(2027, 1, 31, 10, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("governance", "expected"),
    [
        ({"model-laod": {}}, "governance.model-laod is not a known field; did you mean model-load?"),
        ({"model-load": None}, "governance.model-load must be an object, not null"),
        ({"model-load": {"threshold": 0}}, "model-load.threshold must be an integer from 1 to 32, not 0"),
        ({"model-load": {"threshold": True}}, "threshold must be an integer from 1 to 32, not true"),
        ({"model-load": {"mode": "hmac"}}, 'model-load.mode must be one of "attested", "signed", not "hmac"'),
        (
            {"model-load": {"signers": ["a", "A"]}},
            'model-load.signers must be a list of distinct signer names, not ["a", "A"]',
        ),
        ({"model-load": {"signers": ["a b"]}}, "model-load.signers must be a list of distinct signer names"),
        (
            {"model-load": {"signers": ["a"], "threshold": 2}},
            "model-load.threshold must be at most the number of its signers (1)",
        ),
        (
            {"model-load": {"mode": "signed", "threshold": 4}, "signers": THREE},
            "model-load.threshold must be at most the number of its signers (3)",
        ),
        (
            {"model-load": {"mode": "signed", "threshold": 1}, "signers": {"a": signer(revoked=True)}},
            "model-load.signers has no signer who may sign; add some under governance.signers",
        ),
        (
            {"model-load": {"mode": "signed", "signers": ["alise"]}, "signers": THREE},
            'model-load.signers names "alise"; did you mean alice? under signers',
        ),
        (
            {"access-change": {"mode": "attested"}, "signers": THREE},
            'access-change.mode must be "signed": only a signed proposal approves access-change',
        ),
        ({"admin": "governed"}, "governance.admin is governed and needs signers"),
        (
            {"admin": "governed", "signers": THREE, "model-load": {"mode": "signed"}},
            'nothing could approve model-unload: set governance.model-unload to {"mode": "signed"}, or',
        ),
        ({"signers": {"a b": signer()}}, "governance.signers.a b is not a valid name for a signer"),
        (
            {"signers": {"a": {}}},
            "signers.a.public_keys must have 1 to 8 keys; `stoker op keygen` creates one",
        ),
        ({"signers": {"a": 3}}, "governance.signers.a must be an object"),
        (
            {"signers": {"a": {"public_keys": [{"id": "k", "key": KEYS[0]}, {"id": "k", "key": KEYS[1]}]}}},
            "signers.a.public_keys must not have two keys with the id k",
        ),
        (
            {"signers": {"a": signer(0), "b": signer(0)}},
            "signers.b.public_keys has a key that already belongs to the signer a; a key may have only one "
            "signer",
        ),
        ({"signers": {"a": {"public_keys": [{"id": "k"}]}}}, "signers.a.public_keys.0.key is missing"),
        *[
            (
                {"signers": {"a": {"public_keys": [{"id": "k", "key": key}]}}},
                "signers.a.public_keys.0.key must be the base64 of an Ed25519 public key (32 bytes)",
            )
            for key in (
                *(KEYS[0][:-1], KEYS[0] + "=", KEYS[0] + "\n", KEYS[0].replace("=", "")),
                *(base64.b64encode(bytes(32)).decode(), base64.b64encode(bytes(range(33))).decode(), 7, "é"),
            )
        ],
        (
            {"signers": {"a": {"public_keys": [{"id": "k", "key": KEYS[0], "not_after": "soon"}]}}},
            'public_keys.0.not_after must be a date such as "2027-01-31" or a time',
        ),
        (
            {
                "signers": {
                    "a": {
                        "public_keys": [
                            {"id": "k", "key": KEYS[0], "not_before": "2027-01-01", "not_after": "2027-01-01"}
                        ]
                    }
                }
            },
            "public_keys.0.not_after must be after not_before",
        ),
        ({"allow": {"llama": []}}, "governance.allow.llama is not a backend"),
        ({"allow": {"llama_cpp": "org/*"}}, "allow must be an object with a list of patterns for each"),
        ({"max_cooldown_s": 7200}, "governance.max_cooldown_s is not a known field"),
    ],
)
def test_the_error_of_an_invalid_rule_or_signer_has_its_path(problems, governance, expected):
    (line,) = problems({"governance": governance})

    assert expected in line
    assert line.startswith("settings.json: governance.")


@pytest.mark.parametrize(
    "more",
    [
        {"op_token_key_path": "op-token.key"},
        {name: {"mode": "signed"} for name in ("model-load", "model-unload", "cache-flush")},
    ],
)
def test_governed_administration_needs_signers_that_can_approve(load, more):
    settings = load({"governance": {"admin": "governed", "signers": THREE, **more}})

    assert settings.governance.admin == "governed"


def test_local_json_revokes_a_signer_of_settings_json(load):
    local = {"governance": {"signers": {"bob": {"revoked": True}}}}

    settings = load({"governance": {"signers": THREE}}, local)

    assert settings.governance.signers["bob"] == Signer("bob", (SignerKey("k", KEYS[1]),), revoked=True)
