"""An opToken authorises one operation, with what it is bound to, by the rule of the operation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from config.settings import GovernanceRule
from governance.authorization import NONCE_TTL_MS
from governance.op_tokens.canonical_forms import body_hash
from governance.op_tokens.refusal import Refused
from governance.op_tokens.shared_keys import SharedKey, SharedKeys
from governance.op_tokens.verification import WINDOW_S
from tests.governance.op_tokens.tokens import (
    BODY,
    FORMS,
    KEY,
    NOW,
    SIGNED,
    SIGNERS,
    as_jwt,
    as_object,
    as_signed,
    check,
    jwt_with,
    payload,
    reason,
    signed_payload,
)

ONE = GovernanceRule("attested", 1)
FLUSH = {"operation": "cache-flush", "modelId": None, "scope": "tag", "tenantId": "acme", "tag": "t-1"}
EXPECTED_FLUSH = {
    **{"operation": "cache-flush", "model": None, "scope": "tag", "tenant": "acme", "tag": "t-1"},
    "body": {"scope": "tag", "tenantId": "acme", "tag": "t-1"},
}


def flush(**changes: Any) -> dict[str, Any]:
    return as_object(payload(**FLUSH | changes))


@pytest.mark.parametrize("form", FORMS)
def test_a_valid_token_is_accepted_in_each_form(form: str) -> None:
    verified = check(FORMS[form](payload()))

    assert (verified.mode, verified.key_id) == ("attested", "main")
    assert verified.signers == ("admin1", "admin2", "admin3")


# ---- key


@pytest.mark.parametrize("form", FORMS)
def test_a_token_with_another_key_is_refused(form: str) -> None:
    other = SharedKey("main", b"another key, which the platform does not have")

    assert reason(FORMS[form](payload(), other)) == "wrong_signature"


def test_a_platform_without_a_key_refuses_every_token_with_an_hmac() -> None:
    assert reason(as_object(payload()), keys=SharedKeys()) == "unknown_key"


def test_two_keys_are_valid_while_one_replaces_the_other() -> None:
    old = replace(KEY, id="old", not_after=NOW + 10)
    new = SharedKey("new", b"the key that replaces the old one, 2026-11-23", not_before=NOW - 10)
    ring = SharedKeys((old, new))

    assert check(as_object(payload(), old), keys=ring).key_id == "old"
    assert check(as_object(payload(), new), keys=ring).key_id == "new"
    assert check(as_object(payload(), old) | {"kid": "old"}, keys=ring).key_id == "old"
    assert reason(as_object(payload(), old) | {"kid": "new"}, keys=ring) == "wrong_signature"
    assert reason(as_object(payload(), old) | {"kid": "none"}, keys=ring) == "unknown_key"
    assert reason(as_object(payload(), old), keys=ring, now=NOW + 10) == "wrong_signature"
    assert reason(as_object(payload(), old) | {"kid": "old"}, keys=ring, now=NOW + 10) == "unknown_key"
    assert reason(as_object(payload(), new) | {"kid": "new"}, keys=ring, now=NOW - 10.5) == "unknown_key"
    assert check(as_object(payload(), new) | {"kid": "new"}, keys=ring, now=NOW - 10).key_id == "new"


def test_the_key_of_a_jwt_is_the_one_that_its_header_names() -> None:
    other = SharedKey("other", b"a second key of the platform, for another gateway")
    ring = SharedKeys((KEY, other))

    assert check(jwt_with({"alg": "HS256", "kid": "other"}, payload(), other), keys=ring).key_id == "other"
    assert reason(jwt_with({"alg": "HS256", "kid": "main"}, payload(), other), keys=ring) == "wrong_signature"


# ---- time


@pytest.mark.parametrize("form", FORMS)
def test_a_token_is_accepted_within_300_s_of_its_date(form: str) -> None:
    token = FORMS[form](payload())

    assert check(token, now=NOW + 300)
    assert check(token, now=NOW - 300)
    assert reason(token, now=NOW + 300.001) == "too_old"
    assert reason(token, now=NOW - 300.001) == "too_new"
    assert reason(token, now=NOW + 301) == "too_old"
    assert reason(token, now=NOW - 301) == "too_new"


def test_a_used_nonce_is_remembered_for_longer_than_its_token_is_accepted() -> None:
    assert NONCE_TTL_MS > 2 * WINDOW_S * 1000


def test_the_claims_iat_and_exp_of_a_jwt_are_checked() -> None:
    assert check(as_jwt(payload() | {"iat": NOW, "exp": NOW + 60}))
    assert check(as_jwt({"opToken": payload(), "iat": NOW, "exp": NOW + 1}))
    assert reason(as_jwt(payload() | {"iat": NOW - 301})) == "too_old"
    assert reason(as_jwt(payload() | {"iat": NOW + 301})) == "too_new"
    assert reason(as_jwt(payload() | {"exp": NOW})) == "too_old"
    assert reason(as_jwt(payload() | {"exp": float(NOW + 60)})) == "malformed"
    assert reason(as_jwt(payload() | {"exp": True})) == "malformed"
    assert reason(as_jwt(payload() | {"nbf": NOW})) == "malformed"


# ---- what it is bound to


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"operation": "model-unload"}, "wrong_operation"),
        ({"operation": "cache-flush"}, "wrong_operation"),
        ({"model": "meta-llama/Llama-3.1-8B-Instruct"}, "wrong_model"),
        ({"model": "meta-llama/llama-3.1-70b-instruct"}, "wrong_model"),
        ({"model": "metа-llama/Llama-3.1-70B-Instruct"}, "wrong_model"),  # noqa: RUF001 - a Cyrillic letter
        ({"model": None}, "wrong_model"),
        ({"scope": "all"}, "wrong_scope"),
    ],
)
def test_a_token_for_one_operation_never_authorises_another(
    form: str, changes: Mapping[str, Any], expected: str
) -> None:
    assert reason(FORMS[form](payload()), **changes) == expected


def test_a_token_of_a_flush_is_bound_to_scope_tenant_tag_and_model() -> None:
    assert check(flush(), **EXPECTED_FLUSH)
    assert check(as_object(payload(**FLUSH) | {"modelId": None}), **EXPECTED_FLUSH), "null is absent"
    for changes in (
        {"scope": "tenant"},
        {"tenantId": "other"},
        {"tag": "t-2"},
        {"tag": None},
        {"scope": None},
    ):
        assert reason(flush(**changes), **EXPECTED_FLUSH) == "wrong_scope"
    assert reason(flush(modelId="m"), **EXPECTED_FLUSH) == "wrong_model"
    assert reason(flush(), **EXPECTED_FLUSH | {"tenant": None}) == "wrong_scope"
    assert reason(flush(), **EXPECTED_FLUSH | {"tag": None}) == "wrong_scope"
    assert reason(as_object(payload(tag="t-1"))) == "wrong_scope"


def test_a_token_with_a_hash_of_the_body_is_for_that_body_only() -> None:
    token = as_object(payload(bodyHash=body_hash(BODY)))

    assert check(token)
    assert check(token, body={"verifiedOpToken": token, **BODY}), "the token itself is left out"
    assert check(token, body=dict(reversed(BODY.items())))
    assert reason(token, body=BODY | {"evictModel": "other"}) == "wrong_body"
    assert reason(token, body=BODY | {"maxContextLength": 32769}) == "wrong_body"
    assert reason(token, body={}) == "wrong_body"
    assert check(as_object(payload()), body=BODY | {"evictModel": "other"}), "a token without a hash"


def test_a_body_without_a_canonical_form_is_refused() -> None:
    token = as_object(payload(bodyHash=body_hash(BODY)))
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}

    for body in ({"a": 2**60}, {"a": float("nan")}, {"a": "\ud800"}, {"\ud800": 1}, deep):
        assert reason(token, body=body) == "wrong_body"


def test_a_token_that_names_a_runner_is_for_that_runner_only() -> None:
    token = as_object(payload(runnerId="runner_1"))

    assert check(token)
    assert reason(token, runner_id="runner_2") == "wrong_runner"
    assert check(as_object(payload()), runner_id="runner_2"), "a token without a runner"


# ---- signers of the mode attested


@pytest.mark.rule("runner/op-token-signers")
def test_enough_different_signers_have_to_be_listed() -> None:
    two = GovernanceRule("attested", 2)

    assert check(as_object(payload(signers=["a", "b"])), two).signers == ("a", "b")
    assert reason(as_object(payload(signers=["a"])), two) == "too_few_signers"
    assert reason(as_object(payload(signers=None)), two) == "too_few_signers"
    assert reason(as_object(payload(signers=["a", "a"])), two) == "repeated_signer"
    assert reason(as_object(payload(signers=["admin", "Admin"])), two) == "repeated_signer"
    assert reason(as_object(payload(signers=["a", "b", "a"])), two) == "repeated_signer"


def test_a_rule_that_names_signers_refuses_others() -> None:
    named = GovernanceRule("attested", 2, ("a", "b", "c"))

    assert check(as_object(payload(signers=["c", "a"])), named)
    assert reason(as_object(payload(signers=["a", "b", "x"])), named) == "unknown_signer"


def test_a_revoked_signer_is_refused_in_both_modes() -> None:
    revoked = SIGNERS | {"bob": replace(SIGNERS["bob"], revoked=True)}

    assert reason(as_object(payload(signers=["alice", "bob"])), ONE, signers=revoked) == "revoked_signer"
    token = as_signed(signed_payload(), "alice", "bob", "carol")
    assert check(token, SIGNED)
    assert reason(token, SIGNED, signers=revoked) == "revoked_signer", "although two others have signed"


# ---- nonces


def test_the_nonce_of_a_token_is_the_same_in_every_form_and_with_every_signer() -> None:
    (digest,) = {check(form(payload())).nonces for form in FORMS.values()}
    signed = {
        check(as_signed(signed_payload(), *names), SIGNED).nonces
        for names in (("alice", "bob"), ("bob", "carol"), ("carol", "alice", "bob"))
    }

    assert len(signed) == 1
    assert signed != {digest}


def test_the_nonce_depends_on_the_key_and_not_on_its_name() -> None:
    renamed, other = replace(KEY, id="renamed"), SharedKey("main", b"another key of 32 bytes and some more")

    (digest,) = check(as_object(payload())).nonces
    assert check(as_object(payload()), keys=SharedKeys((renamed,))).nonces == (digest,)
    assert check(as_object(payload(), other), keys=SharedKeys((other,))).nonces != (digest,)
    assert digest == hashlib.sha256(KEY.fingerprint + b"\0" + b"a1B2c3D4e5F6a7B8").hexdigest()
    assert check(as_object(payload(nonce="A1B2c3D4e5F6a7B8"))).nonces != (digest,)


def test_a_refusal_repeats_no_text_of_the_token() -> None:
    hostile = "evil\r\ntext"
    for token in (
        as_object(payload(**{hostile: 1})),
        as_object(payload(nonce=hostile)),
        {"opToken": payload(), "signature": hostile},
        hostile,
    ):
        with pytest.raises(Refused) as caught:
            check(token)
        assert "evil" not in str(caught.value)
